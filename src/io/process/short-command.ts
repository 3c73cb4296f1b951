// Runs a command that writes little to its end; trainings go through the supervisor instead.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { CancelledError, messageOf } from '../../errors.ts'

export type ShortCommandEnd =
  | { readonly status: 'ended'; readonly exitCode: number; readonly stdout: string; readonly stderr: string }
  | { readonly status: 'no-answer'; readonly message: string }

/** A trainer may import torch, from a cold disk, only to check its config. */
const LIMIT_SECONDS = 300
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024
/** A cancelled step has 7.5 s. */
const LAST_WAIT_MILLISECONDS = 1000

/** Throws a CancelledError when `cancelled` aborts; neither then nor after the timeout is the command left behind. */
export async function runShort(
  [program = '', ...arguments_]: readonly string[],
  workingDirectory: string,
  environment: Record<string, string>,
  cancelled: AbortSignal,
  limitSeconds = LIMIT_SECONDS,
): Promise<ShortCommandEnd> {
  throwIfCancelled(cancelled)
  const timeout = AbortSignal.timeout(limitSeconds * 1000)
  try {
    // A session of its own: an interrupt typed at a terminal reaches us alone, and its children end with it.
    const options = { cwd: workingDirectory, env: environment, detached: true }
    const child = spawn(program, arguments_, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    const stopped = AbortSignal.any([cancelled, timeout])
    const tooLate = new Error(`no answer within ${limitSeconds} s`)
    stopped.addEventListener('abort', () => stop(child, tooLate))
    try {
      const output = Promise.all([boundedText(child.stdout), boundedText(child.stderr)])
      const [[exitCode], [stdout, stderr]] = await Promise.all([once(child, 'close'), output])
      throwIfCancelled(cancelled)
      return ended(exitCode, stdout, stderr)
    } finally {
      stop(child, tooLate)
      await gone(child)
    }
  } catch (error) {
    throwIfCancelled(cancelled)
    return { status: 'no-answer', message: messageOf(error) }
  }
}

function ended(exitCode: unknown, stdout: string, stderr: string): ShortCommandEnd {
  // By a signal there is no exit code; 128 is where the shell's own numbers for that begin.
  return { status: 'ended', exitCode: typeof exitCode === 'number' ? exitCode : 128, stdout, stderr }
}

async function boundedText(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    bytes += chunk.length
    if (bytes > MAX_OUTPUT_BYTES) throw new Error(`wrote more than ${MAX_OUTPUT_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function throwIfCancelled(cancelled: AbortSignal): void {
  if (cancelled.aborted) throw new CancelledError('cancelled during set-up: nothing was launched')
}

/** Whoever is told of the end may remove what the command was writing; what hangs in the kernel is not waited for. */
async function gone(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  await Promise.race([once(child, 'exit'), sleep(LAST_WAIT_MILLISECONDS, null, { ref: false })])
}

function stop({ pid, exitCode, signalCode, stdout, stderr }: ChildProcess, problem: Error): void {
  // The number of a process that has ended may belong to another one by now; what it has left holds the pipes.
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL')
  for (const stream of [stdout, stderr]) stream?.destroy(problem)
}
