// The text of an experiment file, and what inputs or flags change in it -> an experiment that holds every rule.
import { ConfigError } from '../errors.ts'
import { checkLadder } from '../ladder/config.ts'
import { type Experiment, experimentFile, gatesOf, VARIANTS } from './experiment.ts'
import { checkCommand } from './launch/check-command.ts'
import { engineProblem, refuseFormerKeys } from './launch/engine.ts'
import { inMode } from './mode.ts'
import { applyOverrides, type Overrides } from './overrides/overrides.ts'
import { parseStrictly } from './parse/explain.ts'
import { parseYaml } from './parse/yaml.ts'
import { withKindDefaults, withPreset } from './presets.ts'
import { checkRevisions } from './revisions/revision-rules.ts'

/** Throws a ConfigError that lists every problem of the file. */
export function parseExperiment(text: string, file: string, overrides: Overrides = {}): Experiment {
  const yaml = parseYaml(text, file)
  refuseFormerKeys(yaml, file)
  const raw = withKindDefaults(withPreset(yaml, overrides.preset))
  const changed = applyOverrides(parseStrictly(experimentFile, raw, file), overrides)
  // What the file itself got wrong is already said: only an override can be out of range here.
  const named = parseStrictly(experimentFile, changed, `${file}, as changed by inputs or flags`)
  const experiment = inMode(named, overrides.blocks, file)
  checkCombinations(
    experiment,
    Object.keys(overrides).length > 0 ? `${file}, as changed by inputs or flags` : file,
  )
  checkRevisions(experiment, file)
  if (experiment.ladder) checkLadder(experiment.ladder, file)
  gatesOf(experiment, file)
  return experiment
}

function checkCombinations(experiment: Experiment, file: string): void {
  const { launch, variants } = experiment
  for (const variant of VARIANTS) {
    // What is locked, looked at and watched are the GPUs of both.
    const devices = variants[variant].env.CUDA_VISIBLE_DEVICES
    if (devices === undefined) continue
    throw new ConfigError(
      `${file}: variants.${variant}.env.CUDA_VISIBLE_DEVICES: got "${devices}", but both variants use the same GPUs. Move it to launch.env`,
    )
  }
  checkCommand(experiment, file)
  const problem = engineProblem(
    launch,
    VARIANTS.map((variant) => variants[variant].env),
  )
  if (problem !== null) throw new ConfigError(`${file}: ${problem}`)
}
