// Loads every experiment of a call before any of them is run; each has its own folder if there are several.
import { join } from 'node:path'
import { MERGE_BASE, sameRevisionText } from '../../config/revisions/revision-rules.ts'
import { ConfigError } from '../../errors.ts'
import { refuseSurrounding } from '../folder/own-folder.ts'
import { refuseForeignReport } from '../folder/workspace.ts'
import { type ExperimentSource, type Loaded, loadExperiment } from './load-experiment.ts'

export interface AllSources extends Omit<ExperimentSource, 'experimentFile' | 'outDirectoryOf'> {
  readonly experimentFiles: readonly string[]
  readonly outDirectory: string
}

export interface AllLoaded extends AsyncDisposable {
  /** In the order in which they are named. */
  readonly loaded: readonly Loaded[]
}

/** Throws a ConfigError for the first that cannot be run, and a CancelledError on a cancel. */
export async function loadAll(sources: AllSources): Promise<AllLoaded> {
  const { experimentFiles, outDirectory, workingDirectory } = sources
  refuseSurrounding(outDirectory, workingDirectory)
  const isAlone = experimentFiles.length === 1
  const outDirectoryOf = (name: string) => (isAlone ? outDirectory : join(outDirectory, name))
  if (!isAlone) await refuseForeignReport(outDirectory)
  await using taking = new AsyncDisposableStack()
  const loaded: Loaded[] = []
  for (const experimentFile of experimentFiles) {
    const loading = loadExperiment({ ...sources, experimentFile, outDirectoryOf })
    const one = taking.use(await (isAlone ? loading : namingItsFile(loading, experimentFile)))
    refuseSameName(one, loaded)
    const isOne = sameRevisionText(one.request.experiment, one.request.sources)
    if (isOne !== null) sources.note(`${one.request.experiment.name}: ${isOne}`)
    loaded.push(one)
  }
  refuseUnusedBase(loaded, sources)
  noteUnusedPreset(loaded, sources)
  const taken = taking.move()
  return { loaded, [Symbol.asyncDispose]: () => taken.disposeAsync() }
}

/** Of several files, whatever is wrong with one has to say which; most errors do anyway. */
async function namingItsFile(loading: Promise<Loaded>, experimentFile: string): Promise<Loaded> {
  try {
    return await loading
  } catch (error) {
    if (error instanceof ConfigError && !error.message.includes(experimentFile)) {
      error.message = `${experimentFile}: ${error.message}`
    }
    throw error
  }
}

function refuseSameName({ request }: Loaded, others: readonly Loaded[]): void {
  const { name } = request.experiment
  const other = others.find((one) => one.request.experiment.name === name)
  if (other === undefined) return
  throw new ConfigError(
    `${other.request.experimentFile}, ${request.experimentFile}: name: got "${name}" in both, but each needs a folder of its own. Rename one`,
  )
}

/** One call may hold experiments of several kinds: what is used by none of them is a mistake. */
function refuseUnusedBase(loaded: readonly Loaded[], { overrides }: AllSources): void {
  if (!loaded.every(({ unused }) => unused.includes('base'))) return
  throw new ConfigError(
    `base: got "${overrides.base}", but no variant of ${filesOf(loaded)} has revision: ${MERGE_BASE}. Leave base out, or give a variant this revision`,
  )
}

/** A file that sets everything itself is no error, but a user who asked for more evidence must know. */
function noteUnusedPreset(loaded: readonly Loaded[], { overrides, note }: AllSources): void {
  const full = loaded.filter(({ unused }) => unused.includes('preset'))
  if (full.length === 0) return
  note(
    `preset: got ${overrides.preset}, which has no effect: ${filesOf(full)} already sets the design and all gates`,
  )
}

function filesOf(loaded: readonly Loaded[]): string {
  return loaded.map(({ request }) => request.experimentFile).join(', ')
}
