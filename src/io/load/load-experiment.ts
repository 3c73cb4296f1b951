// Reads an experiment and has both trainer configs resolved, before any run is started.
import { hostname } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { type Experiment, VARIANTS } from '../../config/experiment.ts'
import type { LaunchInputs } from '../../config/launch/trainer-input.ts'
import type { OverrideName } from '../../config/overrides/overrides.ts'
import { unusedOverrides } from '../../config/overrides/unused-overrides.ts'
import { type NumberTexts, numberTextsOf } from '../../config/parse/number-texts.ts'
import { parseExperiment } from '../../config/parse-experiment.ts'
import { refuseForbiddenDifferences, refuseIdentical } from '../../config/same-work/same-work.ts'
import { ConfigError } from '../../errors.ts'
import { requireEnoughBlocks } from '../../judge/enough-blocks.ts'
import { trainingHash } from '../../judge/noise/noise-floor.ts'
import { programOf } from '../../plan/program.ts'
import type { Request } from '../../record/result.ts'
import { refuseForeignFolder } from '../folder/workspace.ts'
import { passedOnSettings } from '../process/trainer-environment.ts'
import { refusalOfCheckout } from '../revisions/git.ts'
import { revisionOf, untrackedOf } from '../revisions/revision.ts'
import { type PlacesRequest, prepareVariants, type VariantPlaces } from '../revisions/variant-places.ts'
import { requireData } from '../run/data-hash.ts'
import { readText } from '../system/read-text.ts'
import { checkProgram, checkScript } from './check-program.ts'
import { loadNoiseFloors } from './noise-floors.ts'
import { checkEnvironments, resolveConfig } from './resolve-config.ts'
import { unknownSpeedKeys } from './unknown-speed-keys.ts'

export interface ExperimentSource extends Omit<PlacesRequest, 'environmentsDirectory'> {
  readonly experimentFile: string
  /** Its folder, by its name. */
  readonly outDirectoryOf: (name: string) => string
  readonly noiseFloorFolder: string
}

/** An experiment that can be launched, until it is disposed of. */
export interface Loaded extends AsyncDisposable {
  readonly request: Request
  readonly places: VariantPlaces
  /** Of the launches; what is measured has the settings of the request. */
  readonly inputs: LaunchInputs
  /** Of the experiment file. */
  readonly numberTexts: NumberTexts
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
  for (const variant of VARIANTS) await checkProgram(experiment, variant, places[variant], cancelled)
  const numberTexts = numberTextsOf(text)
  const resolved = async (asked: Experiment) => ({
    baseline: await resolveConfig(asked, 'baseline', places.baseline, numberTexts, cancelled),
    optimized: await resolveConfig(asked, 'optimized', places.optimized, numberTexts, cancelled),
  })
  const measured = await resolved(experiment)
  const configs = { baseline: measured.baseline.settings, optimized: measured.optimized.settings }
  refuseForbiddenDifferences(experiment.kind, configs, experiment.trainer.speed_keys)
  refuseIdentical(experiment, configs)
  for (const variant of VARIANTS)
    for (const unknown of await unknownSpeedKeys(experiment, variant, places[variant])) source.note(unknown)
  const environment = passedOnSettings(process.env)
  const trainings = VARIANTS.map((variant) => trainingHash(experiment, configs, variant, environment))
  const noiseFloors = await loadNoiseFloors(source.noiseFloorFolder, trainings, source.note)
  const repository = { workingDirectory, cancelled }
  const revision = await revisionOf(repository)
  const refusal = revision === null ? await refusalOfCheckout(repository) : null
  if (refusal !== null)
    source.note(`${refusal}\nThe record names no commit, and what was committed is not checked`)
  const untracked =
    revision === null ? [] : await untrackedOf(repository, filesOf(experiment, experimentFile))
  const host = hostname()
  const warmUp = asWarmedUp(experiment)
  const ofWarmUps = warmUp === experiment ? measured : await resolved(warmUp).catch(nameWarmUp)
  const taken = taking.move()
  return {
    request: {
      ...{ experimentFile, experiment, configs, overrides, revision, untracked, sources, noiseFloors },
      ...{ host, environment, data: null, interference: [] },
      outDirectory: namedFrom(workingDirectory, outDirectory),
      attempt: attemptOf(process.env.GITHUB_RUN_ATTEMPT),
    },
    places,
    numberTexts,
    inputs: { 'warm-up': ofWarmUps, measured },
    directory,
    unused: unusedOverrides(overrides, experiment, text),
    [Symbol.asyncDispose]: () => taken.disposeAsync(),
  }
}

/** Of the working tree; those of a revision are in its commit. */
function filesOf(experiment: Experiment, experimentFile: string): string[] {
  const { variants } = experiment
  const { script } = programOf(experiment)
  const ofVariants = VARIANTS.map((variant) => variants[variant]).filter((one) => one.revision === undefined)
  const configs = ofVariants.flatMap(({ config }) => (config === undefined ? [] : [config]))
  return [experimentFile, ...configs, ...(ofVariants.length === 0 || script === undefined ? [] : [script])]
}

/** Null for anything but a whole number from 1 on. */
function attemptOf(text: string | undefined): number | null {
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null
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
