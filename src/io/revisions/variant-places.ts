// Where each variant runs: in the working tree or a worktree of its revision, with the interpreter of its lock.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Experiment, Variant } from '../../config/experiment.ts'
import type { Overrides } from '../../config/overrides/overrides.ts'
import { type Lock, pinnedPackages, type Source, type Sources } from '../../config/revisions/sources.ts'
import { trainerEnvironment } from '../process/trainer-environment.ts'
import { pythonPath } from '../system/python-path.ts'
import { readText } from '../system/read-text.ts'
import { commitOf } from './commits.ts'
import { environmentFor } from './environment.ts'
import { revisionOf } from './revision.ts'
import { addWorktree } from './worktree.ts'
import { ownWorktrees, removeAbandoned, removeEmptyFolders } from './worktree-folders.ts'

export interface VariantPlace {
  readonly workingDirectory: string
  /** A path, or a command on PATH. */
  readonly python: string
}

export type VariantPlaces = Readonly<Record<Variant, VariantPlace>>

export interface PlacesRequest {
  readonly workingDirectory: string
  /** Gets worktrees/<job>/<variant>, for as long as the places are needed. */
  readonly outDirectory: string
  /** Keeps environments made from locks. */
  readonly environmentsDirectory: string
  readonly overrides: Overrides
  readonly cancelled: AbortSignal
  /** Called with a line for people before something that takes minutes. */
  readonly note: (message: string) => void
  /** Called with the folder of a worktree before it is made, so that a post step can remove it. */
  readonly onWorktree: (folder: string) => void
}

export interface Prepared extends AsyncDisposable {
  readonly places: VariantPlaces
  readonly sources: Sources
}

interface CheckedOut {
  readonly workingDirectory: string
  readonly source: Pick<Source, 'ref' | 'revision'>
}

/** Throws a ConfigError for a ref, a lock or an environment that cannot be had, and a CancelledError on a cancel. */
export async function prepareVariants(experiment: Experiment, request: PlacesRequest): Promise<Prepared> {
  await using taking = new AsyncDisposableStack()
  await removeAbandoned(request.outDirectory, request.workingDirectory)
  taking.defer(() => removeEmptyFolders(request.outDirectory))
  const prepare = async (variant: Variant) => {
    const code = await checkOut(experiment, variant, request, taking)
    const lock = await lockOf(experiment, code)
    const python = await interpreterFor(experiment, code, lock, request)
    const { workingDirectory, source } = code
    return { place: { workingDirectory, python }, source: { ...source, lock } }
  }
  const [baseline, optimized] = [await prepare('baseline'), await prepare('optimized')]
  const taken = taking.move()
  return {
    places: { baseline: baseline.place, optimized: optimized.place },
    sources: { baseline: baseline.source, optimized: optimized.source },
    [Symbol.asyncDispose]: () => taken.disposeAsync(),
  }
}

async function checkOut(
  { variants, launch }: Experiment,
  variant: Variant,
  { workingDirectory, outDirectory, overrides, cancelled, onWorktree }: PlacesRequest,
  taking: AsyncDisposableStack,
): Promise<CheckedOut> {
  const repository = { workingDirectory, cancelled }
  const { revision: ref } = variants[variant]
  if (ref === undefined)
    return { workingDirectory, source: { ref: null, revision: await revisionOf(repository) } }
  const commit = await commitOf(ref, `variants.${variant}.revision`, overrides.base, repository)
  const folder = join(ownWorktrees(outDirectory), variant)
  onWorktree(folder)
  const worktree = taking.use(await addWorktree(folder, commit, launch.shared_paths, repository))
  return { workingDirectory: worktree.workingDirectory, source: { ref, revision: commit } }
}

async function lockOf(
  { launch: { requirements } }: Experiment,
  { workingDirectory, source }: CheckedOut,
): Promise<Lock | null> {
  if (requirements === undefined) return null
  const place = source.ref === null ? 'the working tree' : `${source.revision} (${source.ref})`
  const name = `launch.requirements: ${requirements} of ${place}`
  const text = await readText(join(workingDirectory, requirements), name, MAX_LOCK_BYTES)
  return { sha256: createHash('sha256').update(text).digest('hex'), packages: pinnedPackages(text) }
}

/** The named interpreter was made from the working tree's lock; a revision with the same lock uses it too. */
async function interpreterFor(
  experiment: Experiment,
  code: CheckedOut,
  lock: Lock | null,
  request: PlacesRequest,
): Promise<string> {
  const { python, requirements, env } = experiment.launch
  if (code.source.ref === null) return python
  const absolute = pythonPath(python, request.workingDirectory)
  const { workingDirectory, environmentsDirectory, cancelled } = request
  const own = await lockOf(experiment, { workingDirectory, source: { ref: null, revision: null } })
  if (lock === null || requirements === undefined || lock.sha256 === own?.sha256) return absolute
  return await environmentFor({
    folder: environmentsDirectory,
    lock,
    lockFile: requirements,
    workingDirectory: code.workingDirectory,
    python: absolute,
    environment: trainerEnvironment(process.env, env),
    cancelled,
    onInstall: () =>
      request.note(
        `making a Python environment from ${requirements} of ${code.source.ref}, which differs from the working tree's (once; this can take minutes)`,
      ),
  })
}

/** Hashes make a lock long: some 100 kB for torch and what it needs. */
const MAX_LOCK_BYTES = 16 * 1024 * 1024
