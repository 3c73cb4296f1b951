// One Speedproof at a time on a GPU of this host, on its CPUs, or in a folder: locks that end with us, however we end.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, existsSync, lstatSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { CancelledError, ConfigError, messageOf, RunError } from '../../errors.ts'
import type { GpuFacts, LockFacts } from '../../measure/machine-record.ts'
import { packageRoot } from '../system/package-root.ts'
import { plainText } from '../system/sanitize.ts'
import { timerMilliseconds } from '../system/timer.ts'

export interface FileLockRequest {
  /** Made if they are not there; their folders have to be. */
  readonly files: readonly string[]
  /** Interpreter for lock.py, Python 3.10 or newer. */
  readonly python: string
  readonly limitMinutes: number
  readonly cancelled: AbortSignal
  /** Called for each lock that somebody else holds, with what is known of the holder. */
  readonly onWait: (holder: string) => void
  /** The error for what cannot be locked at all. */
  readonly cannotLock: (reason: string) => Error
}

export interface LockRequest extends Omit<FileLockRequest, 'files' | 'cannotLock'> {
  /** What `lockNames` gives. */
  readonly names: readonly string[]
  readonly folder: string
}

/** Containers of one host have lock folders of their own, unless this names one that they share. */
const FOLDER_VARIABLE = 'SPEEDPROOF_LOCK_FOLDER'
const HOST_FOLDER = '/var/lock'

type Holder = ChildProcessByStdio<Writable, Readable, null>

export function lockFolder(environment: NodeJS.ProcessEnv): string {
  const named = environment[FOLDER_VARIABLE]
  if (named) return named
  try {
    accessSync(HOST_FOLDER, constants.W_OK)
    return HOST_FOLDER
  } catch {
    return tmpdir()
  }
}

/** One lock for each GPU, so that experiments on other GPUs go on; without GPUs one for all of the CPU. */
export function lockNames(gpus: readonly GpuFacts[]): string[] {
  return gpus.length === 0 ? ['cpu'] : gpus.map(({ uuid }) => uuid.replaceAll(/[^\w-]/g, '_'))
}

/** Give it back when the runs are over; after a time-out there is nothing to give back. */
export interface Lock extends AsyncDisposable {
  /** As of now: a lock whose holder is ended is lost. */
  readonly facts: LockFacts
}

/** Of locks that are held together: one that is lost tells for all, and else the first. */
export function factsOf(first: Lock, ...others: readonly Lock[]): LockFacts {
  return others.find(({ facts }) => facts.status === 'lost')?.facts ?? first.facts
}

/** Throws a ConfigError without the folder, a RunError when there can be no lock in it, and a CancelledError on a cancel. */
export async function lockHost({ names, folder, ...request }: LockRequest): Promise<Lock> {
  if (!existsSync(folder))
    throw new ConfigError(
      `${FOLDER_VARIABLE}: got "${folder}", which does not exist; create it, or name another folder`,
    )
  return await lockFiles({
    ...request,
    files: names.map((name) => join(folder, `speedproof-${name}.lock`)),
    cannotLock: (reason) =>
      new RunError(
        `lock: cannot lock in ${folder}: ${reason}; make the folder writable, or name another one with ${FOLDER_VARIABLE}`,
      ),
  })
}

/** Throws what `cannotLock` makes, and a CancelledError on a cancel. */
export async function lockFiles(request: FileLockRequest): Promise<Lock> {
  const { cancelled, cannotLock, limitMinutes, onWait } = request
  if (cancelled.aborted) throw cancelledError()
  const holder = await startHolder(request)
  using limit = waitLimit(limitMinutes)
  const giveUp = AbortSignal.any([cancelled, limit.signal])
  const stopWaiting = () => holder.stdin.end()
  giveUp.addEventListener('abort', stopWaiting)
  const startedAt = performance.now()
  const waitedSeconds = () => (performance.now() - startedAt) / 1000
  let waitedFor: string | null = null
  let failure = 'no reason was given'
  for await (const line of createInterface({ input: holder.stdout })) {
    const [word = '', ...rest] = plainText(line).split(' ')
    // A lock that came when we had given up is given back already.
    if (word === 'locked' && !holder.stdin.writableEnded) {
      giveUp.removeEventListener('abort', stopWaiting) // what runs when we are cancelled has to end first
      return heldBy(holder, request.files, { waitedSeconds: waitedSeconds(), waitedFor })
    }
    if (word === 'failed') failure = rest.join(' ')
    if (word === 'waiting') {
      waitedFor = rest.join(' ') || 'an unknown process'
      onWait(waitedFor)
      limit.start()
    }
  }
  await release(holder)
  if (cancelled.aborted) throw cancelledError()
  if (limit.signal.aborted && waitedFor !== null) {
    const facts = { status: 'timed-out' as const, waitedSeconds: waitedSeconds(), waitedFor }
    return { facts, [Symbol.asyncDispose]: async () => {} }
  }
  throw cannotLock(failure)
}

/** The holder may be killed before us, by a training or for want of memory, and the kernel then gives its locks away. */
function heldBy(
  holder: Holder,
  files: readonly string[],
  waited: Pick<LockFacts, 'waitedSeconds' | 'waitedFor'>,
): Lock {
  let facts: LockFacts = { status: 'held', ...waited }
  const lose = () => {
    const end = holder.signalCode ?? `exit code ${holder.exitCode}`
    const reason = `the process that held ${files.join(', ')} was ended (${end})`
    facts = { status: 'lost', ...waited, reason }
  }
  holder.once('exit', lose)
  if (hasEnded(holder)) lose()
  const nodes = files.map(nodeOf)
  return {
    get facts() {
      // Who comes now locks another file of that name.
      const gone = files.find((file, index) => nodeOf(file) !== nodes[index])
      if (facts.status === 'held' && gone !== undefined)
        facts = { status: 'lost', ...waited, reason: `${gone} was removed or replaced` }
      return facts
    },
    async [Symbol.asyncDispose]() {
      holder.off('exit', lose)
      await release(holder)
    },
  }
}

/** Null for a file that is not there. */
function nodeOf(file: string): number | null {
  return lstatSync(file, { throwIfNoEntry: false })?.ino ?? null
}

interface WaitLimit extends Disposable {
  readonly signal: AbortSignal
  /** The time counts from the first lock that somebody else holds, not from the start of the interpreter. */
  start(): void
}

function waitLimit(minutes: number): WaitLimit {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  return {
    signal: controller.signal,
    start() {
      timer ??= setTimeout(() => controller.abort(), timerMilliseconds(minutes * 60_000))
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  }
}

async function startHolder({ files, python, cannotLock }: FileLockRequest): Promise<Holder> {
  const script = join(packageRoot(), 'src', 'io', 'machine', 'lock.py')
  const owner = `process ${process.pid} on ${hostname()}, since ${new Date().toISOString()}`
  const holder = spawn(python, ['-I', '-S', script, owner, ...files], {
    // A session of its own: an interrupt typed at a terminal must not give the lock back before the runs end.
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  try {
    await once(holder, 'spawn')
    return holder
  } catch (error) {
    throw cannotLock(`cannot start "${python}": ${messageOf(error)}`)
  }
}

async function release(holder: Holder): Promise<void> {
  holder.stdin.end()
  if (!hasEnded(holder)) await once(holder, 'exit')
}

function hasEnded({ exitCode, signalCode }: Holder): boolean {
  return exitCode !== null || signalCode !== null
}

function cancelledError(): CancelledError {
  return new CancelledError('cancelled during set-up: nothing was launched')
}
