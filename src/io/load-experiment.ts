// Reads an experiment and has both trainer configs resolved, before any run is started.
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { type Experiment, parseExperiment, VARIANTS } from '../config/experiment.ts'
import type { Overrides } from '../config/overrides.ts'
import { type ResolvedConfigs, refuseForbiddenDifferences, refuseIdentical } from '../config/same-work.ts'
import { ConfigError } from '../errors.ts'
import { trainingHash } from '../judge/noise-floor.ts'
import type { Request } from '../report/result.ts'
import { loadNoiseFloors } from './noise-floors.ts'
import { runShort } from './process/short-command.ts'
import { trainerEnvironment } from './process/trainer-environment.ts'
import { readText } from './read-text.ts'
import { environmentOf, type Place, resolveConfig } from './resolve-config.ts'
import { revisionOf } from './revision.ts'

export interface Source extends Place {
  readonly experimentFile: string
  readonly overrides: Overrides
  readonly noiseFloorFolder: string
}

/** Throws a ConfigError for anything that would make the experiment fail before its first step, and on a cancel. */
export async function loadExperiment(source: Source): Promise<Request> {
  const { experimentFile, workingDirectory, overrides } = source
  const text = await readText(resolve(workingDirectory, experimentFile), experimentFile)
  const experiment = parseExperiment(text, experimentFile, overrides)
  for (const variant of VARIANTS) environmentOf(experiment, variant)
  checkScript(experiment, workingDirectory)
  await checkPython(experiment, source)
  const configs = {
    baseline: await resolveConfig(experiment, 'baseline', source),
    optimized: await resolveConfig(experiment, 'optimized', source),
  } satisfies ResolvedConfigs
  refuseForbiddenDifferences(experiment.kind, configs)
  refuseIdentical(experiment, configs)
  const trainings = VARIANTS.map((variant) => trainingHash(experiment, configs, variant))
  return {
    experimentFile,
    experiment,
    configs,
    overrides,
    revision: await revisionOf(workingDirectory),
    host: hostname(),
    noiseFloors: await loadNoiseFloors(source.noiseFloorFolder, trainings),
  }
}

function checkScript({ trainer }: Experiment, workingDirectory: string): void {
  if (trainer.script === undefined || existsSync(resolve(workingDirectory, trainer.script))) return
  throw new ConfigError(
    `trainer.script: got "${trainer.script}", which does not exist; paths are relative to the working directory`,
  )
}

/** torchrun needs nothing but an interpreter with torch in it; finding the module does not import it. */
async function checkPython({ launch }: Experiment, { workingDirectory, cancelled }: Place): Promise<void> {
  const probe = 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'
  const environment = trainerEnvironment(process.env, {})
  const found = await runShort([launch.python, '-c', probe], workingDirectory, environment, cancelled)
  if (found.status === 'no-answer') {
    throw new ConfigError(
      `launch.python: got "${launch.python}", which cannot be started (${found.message}); name an interpreter that has torch`,
    )
  }
  if (found.exitCode !== 0) {
    throw new ConfigError(
      `launch.python: "${launch.python}" has no torch, so there is no torchrun; install torch into it or name another interpreter`,
    )
  }
}
