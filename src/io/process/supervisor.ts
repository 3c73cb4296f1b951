// Runs one command to its end, its timeout or a cancel, and leaves no process of it behind.
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf, RunError } from '../../errors.ts'
import type { LaunchEnd } from '../../measure/outcome.ts'
import { createOwnFile } from '../folder/own-file.ts'
import { timerMilliseconds } from '../system/timer.ts'
import { type NotStarted, notStarted, type Reaper, type ReaperRequest, startReaper } from './launch-reaper.ts'
import { TrainerLog } from './log/trainer-log.ts'
import { newMarker, sweep } from './sweep.ts'

export interface Launch extends ReaperRequest {
  /** Must not be there, but its folder has to be. */
  logFile: string
  timeoutSeconds: number
}

export interface LaunchHooks {
  cancelled: AbortSignal
  /** A sanitised line of the command's output, for the live view. */
  onLine?: (line: string) => void
  /** Called before any process exists, so that a later step can `sweep` if we are killed. */
  onStart?: (marker: string) => void | Promise<void>
}

/**
 * For the reaper, which needs 3 s for those that ignore SIGTERM and gives up after 30. The runner ends us 10 s after the
 * first signal of a cancel.
 */
const PATIENCE_MILLISECONDS = { 'after a cancel': 6000, otherwise: 35_000 } as const
const DRAIN_MILLISECONDS = 2000

/** Rejects only for our own bugs, and with RunError for a process that is left, or may be. */
export async function supervise(launch: Launch, hooks: LaunchHooks): Promise<LaunchEnd> {
  const marker = newMarker()
  await hooks.onStart?.(marker)
  if (hooks.cancelled.aborted) return { status: 'cancelled', wallSeconds: 0 }
  const log = await openLog(launch.logFile, hooks.onLine ?? (() => {}))
  if (!(log instanceof TrainerLog)) return log
  await using _closedAtEnd = log
  const reaper = await startReaper(launch, marker)
  if (reaper.status === 'not-started') return reaper
  return await superviseRunning(launch, hooks, marker, log, reaper)
}

async function superviseRunning(
  launch: Launch,
  hooks: LaunchHooks,
  marker: string,
  log: TrainerLog,
  reaper: Reaper,
): Promise<LaunchEnd> {
  const drained = Promise.all(reaper.output.map((stream) => log.drain(stream)))
  try {
    using stop = stopRequest(hooks.cancelled, launch.timeoutSeconds)
    // drained is in the race only to bring its failure to light at once.
    return await Promise.race([reaper.end, stop.requested, drained.then(() => reaper.end)])
  } finally {
    const isClean = await endTree(reaper, marker, hooks.cancelled)
    await finishOutput(drained, reaper.output)
    if (!isClean) refuseUnclean()
  }
}

interface StopRequest extends Disposable {
  requested: Promise<LaunchEnd>
}

function stopRequest(cancelled: AbortSignal, timeoutSeconds: number): StopRequest {
  const startedAt = performance.now()
  const { promise, resolve } = Promise.withResolvers<LaunchEnd>()
  const stop = (status: 'timed-out' | 'cancelled') => () =>
    resolve({ status, wallSeconds: (performance.now() - startedAt) / 1000 })
  const cancel = stop('cancelled')
  const timer = setTimeout(stop('timed-out'), timerMilliseconds(timeoutSeconds * 1000))
  cancelled.addEventListener('abort', cancel)
  if (cancelled.aborted) cancel()
  return {
    requested: promise,
    [Symbol.dispose]() {
      clearTimeout(timer)
      cancelled.removeEventListener('abort', cancel)
    },
  }
}

/**
 * Asks the reaper first: it alone sees every descendant, and gives a training time to end on its own. False unless it
 * says that nothing is left: what it had not seen go may be out of the reach of our own sweep.
 */
async function endTree(reaper: Reaper, marker: string, cancelled: AbortSignal): Promise<boolean> {
  reaper.terminate()
  using patience = patienceUntil(cancelled)
  await Promise.race([reaper.end, patience.over])
  const isClean = reaper.isClean()
  await sweep(marker)
  return isClean
}

function patienceUntil(cancelled: AbortSignal): Disposable & { over: Promise<void> } {
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const timers = [setTimeout(resolve, PATIENCE_MILLISECONDS.otherwise)]
  const shorten = () => void timers.push(setTimeout(resolve, PATIENCE_MILLISECONDS['after a cancel']))
  cancelled.addEventListener('abort', shorten)
  if (cancelled.aborted) shorten()
  return {
    over,
    [Symbol.dispose]() {
      cancelled.removeEventListener('abort', shorten)
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

function refuseUnclean(): never {
  throw new RunError(
    'a process of the training may be left: reaper.py did not say that the last one is gone. It was ended, or a process would not end, or it started others faster than they could be ended. Look for it with ps and end it, or restart the machine. Then find out what the training starts',
  )
}

/** A process that escaped even the sweep may hold the pipe open for ever. */
async function finishOutput(drained: Promise<unknown>, output: readonly Readable[]): Promise<void> {
  const patience = sleep(DRAIN_MILLISECONDS, 'stuck', { ref: false })
  if ((await Promise.race([drained, patience])) !== 'stuck') return
  for (const stream of output) stream.destroy()
  await drained.catch(() => {})
}

async function openLog(path: string, onLine: (line: string) => void): Promise<TrainerLog | NotStarted> {
  try {
    return new TrainerLog(await createOwnFile(path), onLine)
  } catch (error) {
    return notStarted(`cannot write the log file: ${messageOf(error)}`)
  }
}
