// One call at a time in an output folder: a second one would move aside what the first is still writing.
import { join } from 'node:path'
import { ConfigError } from '../../errors.ts'
import type { Loaded } from '../load/load-experiment.ts'
import { type Lock, lockFiles } from '../machine/lock.ts'
import { pythonPath } from '../system/python-path.ts'
import { makeOutputFolder } from './workspace.ts'

const LOCK_FILE = '.speedproof.lock'

export interface FolderLockRequest {
  readonly questions: readonly Pick<Loaded, 'request' | 'directory'>[]
  readonly workingDirectory: string
  /** Of the call. */
  readonly outDirectory: string
  readonly cancelled: AbortSignal
}

/**
 * Of the call and of each of its experiments: another call may name one of these alone. Does not wait, and throws a
 * ConfigError for a folder that another call is at work in, or that cannot be locked.
 */
export async function lockFolders(request: FolderLockRequest): Promise<readonly Lock[] & AsyncDisposable> {
  const { questions, workingDirectory, outDirectory, cancelled } = request
  const python = pythonPath(questions[0]?.request.experiment.launch.python ?? '', workingDirectory)
  await using taking = new AsyncDisposableStack()
  const locks: Lock[] = []
  for (const directory of new Set([outDirectory, ...questions.map((question) => question.directory)]))
    locks.push(taking.use(await lockFolder(directory, python, cancelled)))
  const taken = taking.move()
  return Object.assign(locks, { [Symbol.asyncDispose]: () => taken.disposeAsync() })
}

async function lockFolder(directory: string, python: string, cancelled: AbortSignal): Promise<Lock> {
  await makeOutputFolder(directory)
  const lock = await lockFiles({
    files: [join(directory, LOCK_FILE)],
    python,
    limitMinutes: 0,
    cancelled,
    onWait: () => {},
    cannotLock: (reason) =>
      new ConfigError(
        `out: got "${directory}", which cannot be locked (${reason}). Name a folder on another disk`,
      ),
  })
  if (lock.facts.status !== 'timed-out') return lock
  throw new ConfigError(
    `out: got "${directory}", which another call uses (${lock.facts.waitedFor}). Wait until it ends, or name another folder, on the command line with --out`,
  )
}
