// Ends a step as the runner does when someone cancels the workflow.
import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

export interface CancelDelays {
  beforeTerminate: number
  beforeKill: number
}

// ProcessInvoker.cs of github.com/actions/runner: SIGINT, 7.5 s, SIGTERM, 2.5 s, SIGKILL, to the one process.
export const RUNNER_DELAYS_MS: CancelDelays = { beforeTerminate: 7500, beforeKill: 2500 }

/** Answers with the last signal that was needed. */
export async function endLikeRunner(child: ChildProcess, delaysMs: CancelDelays): Promise<NodeJS.Signals> {
  child.kill('SIGINT')
  if (await endsWithin(child, delaysMs.beforeTerminate)) return 'SIGINT'
  child.kill('SIGTERM')
  if (await endsWithin(child, delaysMs.beforeKill)) return 'SIGTERM'
  child.kill('SIGKILL')
  return 'SIGKILL'
}

async function endsWithin(child: ChildProcess, delayMs: number): Promise<boolean> {
  if (child.exitCode !== null || child.signalCode !== null) return true
  const stopWaiting = new AbortController()
  const exited = new Promise<true>((settle) => child.once('exit', () => settle(true)))
  const passed = sleep(delayMs, false, { signal: stopWaiting.signal })
  passed.catch(() => {}) // Aborted below, when the child was faster.
  const ended = await Promise.race([exited, passed])
  stopWaiting.abort()
  return ended
}
