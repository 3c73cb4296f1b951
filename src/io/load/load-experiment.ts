// Reads an experiment and has both trainer configs resolved, before any run is started.
import { statSync } from 'node:fs'
import { hostname } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { type Experiment, VARIANTS } from '../../config/experiment.ts'
import type { OverrideName } from '../../config/overrides/overrides.ts'
import { unusedOverrides } from '../../config/overrides/unused-overrides.ts'
import { parseExperiment } from '../../config/parse-experiment.ts'
import {
  type ResolvedConfigs,
  refuseForbiddenDifferences,
  refuseIdentical,
} from '../../config/same-work/same-work.ts'
import { ConfigError } from '../../errors.ts'
import { requireEnoughBlocks } from '../../judge/enough-blocks.ts'
import { trainingHash } from '../../judge/noise/noise-floor.ts'
import type { PlannedRun } from '../../plan/plan.ts'
import type { Request } from '../../record/result.ts'
import { refuseForeignFolder } from '../folder/workspace.ts'
import { lastLines } from '../process/log/quote-output.ts'
import { runShort } from '../process/short-command.ts'
import { passedOnSettings, trainerEnvironment } from '../process/trainer-environment.ts'
import { revisionOf, untrackedOf } from '../revisions/revision.ts'
import {
  type PlacesRequest,
  prepareVariants,
  type VariantPlace,
  type VariantPlaces,
} from '../revisions/variant-places.ts'
import { requireData } from '../run/data-hash.ts'
import { readText } from '../system/read-text.ts'
import { loadNoiseFloors } from './noise-floors.ts'
import { checkEnvironments, resolveConfig } from './resolve-config.ts'

export interface ExperimentSource extends Omit<PlacesRequest, 'environmentsDirectory'> {
  readonly experimentFile: string
  /** Its folder, by its name. */
  readonly outDirectoryOf: (name: string) => string
  readonly noiseFloorFolder: string
}

export type LaunchConfigs = Readonly<Record<PlannedRun['purpose'], ResolvedConfigs>>

/** An experiment that can be launched, until it is disposed of. */
export interface Loaded extends AsyncDisposable {
  readonly request: Request
  readonly places: VariantPlaces
  /** Of the launches; what is measured has those of the request. */
  readonly configs: LaunchConfigs
  /** For its results. */
  readonly directory: string
  /** Of those that were given: what changes nothing in this experiment. */
  readonly unused: readonly OverrideName[]
}

/** Throws a ConfigError for anything that would make the experiment fail before its first step, and on a cancel. */
export async function loadExperiment(source: ExperimentSource): Promise<Loaded> {
  const { experimentFile, workingDirectory, outDirectory, overrides, cancelled } = source
  const text = await readText(resolve(workingDirectory, experimentFile), experimentFile)
  const experiment = parseExperiment(text, experimentFile, overrides)
  requireEnoughBlocks(experiment)
  checkEnvironments(experiment, experimentFile)
  checkScript(experiment, workingDirectory)
  await using taking = new AsyncDisposableStack()
  const directory = source.outDirectoryOf(experiment.name)
  await refuseForeignFolder(directory)
  // Experiments of one call may need the same environment.
  const environmentsDirectory = join(outDirectory, 'environments')
  const { places, sources } = taking.use(
    await prepareVariants(experiment, { ...source, outDirectory: directory, environmentsDirectory }),
  )
  await requireData(experiment.data ?? [], places)
  for (const variant of VARIANTS) await checkPython(places[variant], cancelled)
  const resolved = async (asked: Experiment): Promise<ResolvedConfigs> => ({
    baseline: await resolveConfig(asked, 'baseline', places.baseline, cancelled),
    optimized: await resolveConfig(asked, 'optimized', places.optimized, cancelled),
  })
  const configs = await resolved(experiment)
  refuseForbiddenDifferences(experiment.kind, configs)
  refuseIdentical(experiment, configs)
  const environment = passedOnSettings(process.env)
  const trainings = VARIANTS.map((variant) => trainingHash(experiment, configs, variant, environment))
  const noiseFloors = await loadNoiseFloors(source.noiseFloorFolder, trainings)
  const repository = { workingDirectory, cancelled }
  const revision = await revisionOf(repository)
  const untracked =
    revision === null ? [] : await untrackedOf(repository, filesOf(experiment, experimentFile))
  const host = hostname()
  const warmUp = asWarmedUp(experiment)
  const ofWarmUps = warmUp === experiment ? configs : await resolved(warmUp).catch(nameWarmUp)
  const taken = taking.move()
  return {
    request: {
      ...{ experimentFile, experiment, configs, overrides, revision, untracked, sources, noiseFloors },
      ...{ host, environment, data: null },
      outDirectory: namedFrom(workingDirectory, outDirectory),
    },
    places,
    configs: { 'warm-up': ofWarmUps, measured: configs },
    directory,
    unused: unusedOverrides(overrides, experiment, text),
    [Symbol.asyncDispose]: () => taken.disposeAsync(),
  }
}

/** Of the working tree; those of a revision are in its commit. */
function filesOf({ variants, trainer }: Experiment, experimentFile: string): string[] {
  const ofVariants = VARIANTS.map((variant) => variants[variant]).filter((one) => one.revision === undefined)
  const script = ofVariants.length === 0 || trainer.script === undefined ? [] : [trainer.script]
  return [experimentFile, ...ofVariants.map(({ config }) => config), ...script]
}

function namedFrom(workingDirectory: string, folder: string): string {
  const path = relative(workingDirectory, folder)
  return path.startsWith('..') ? folder : path || '.'
}

function nameWarmUp(error: unknown): never {
  throw error instanceof ConfigError ? new ConfigError(`design.warm_up_set: ${error.message}`) : error
}

/** The experiment as its warm-up launches have it. */
function asWarmedUp(experiment: Experiment): Experiment {
  const { warm_up_set: added, warm_up_launches: launches } = experiment.design
  if (added === undefined || launches === 0) return experiment
  const { baseline, optimized } = experiment.variants
  const variants = {
    baseline: { ...baseline, set: { ...baseline.set, ...added } },
    optimized: { ...optimized, set: { ...optimized.set, ...added } },
  }
  return { ...experiment, variants }
}

/** Whether the revisions of the variants have it, is asked with their configs. */
function checkScript({ trainer }: Experiment, workingDirectory: string): void {
  if (trainer.script === undefined) return
  const found = statSync(resolve(workingDirectory, trainer.script), { throwIfNoEntry: false })
  if (found?.isDirectory())
    throw new ConfigError(
      `trainer.script: got "${trainer.script}", which is a folder; name the Python file in it that starts the training`,
    )
  if (found) return
  throw new ConfigError(
    `trainer.script: got "${trainer.script}", which does not exist in ${workingDirectory}; paths are relative to the working directory`,
  )
}

/** Of the probe below; an interpreter that is broken ends with another. */
const NO_TORCH = 3

/** torchrun needs nothing but an interpreter with torch in it; finding the module does not import it. */
async function checkPython(
  { python, workingDirectory }: VariantPlace,
  cancelled: AbortSignal,
): Promise<void> {
  const probe = `import importlib.util, sys; sys.exit(0 if importlib.util.find_spec("torch") else ${NO_TORCH})`
  const environment = trainerEnvironment(process.env, {})
  const found = await runShort([python, '-c', probe], workingDirectory, environment, cancelled)
  if (found.status === 'no-answer') {
    throw new ConfigError(
      `launch.python: got "${python}", which cannot be started (${found.message}); name an interpreter that has torch`,
    )
  }
  if (found.exitCode === NO_TORCH) {
    throw new ConfigError(
      `launch.python: got "${python}", which has no torch and so no torchrun. Install torch into it, or name another interpreter`,
    )
  }
  if (found.exitCode !== 0) {
    const why = lastLines(found.stderr) || 'it printed nothing'
    throw new ConfigError(
      `launch.python: got "${python}", which cannot be run (exit code ${found.exitCode}); fix it or name another interpreter:\n${why}`,
    )
  }
}
