// Loads every experiment of a call before any of them is run; each has its own folder if there are several.
import { join } from 'node:path'
import { ConfigError } from '../errors.ts'
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
  const { experimentFiles, outDirectory } = sources
  const isAlone = experimentFiles.length === 1
  const outDirectoryOf = (name: string) => (isAlone ? outDirectory : join(outDirectory, name))
  await using taking = new AsyncDisposableStack()
  const loaded: Loaded[] = []
  for (const experimentFile of experimentFiles) {
    const one = taking.use(await loadExperiment({ ...sources, experimentFile, outDirectoryOf }))
    refuseSameName(one, loaded)
    loaded.push(one)
  }
  const taken = taking.move()
  return { loaded, [Symbol.asyncDispose]: () => taken.disposeAsync() }
}

function refuseSameName({ request }: Loaded, others: readonly Loaded[]): void {
  const { name } = request.experiment
  const other = others.find((one) => one.request.experiment.name === name)
  if (other === undefined) return
  throw new ConfigError(
    `${other.request.experimentFile}, ${request.experimentFile}: name: both are called "${name}", and each needs a folder of its own; rename one`,
  )
}
