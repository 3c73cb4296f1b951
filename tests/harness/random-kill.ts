// Ends a measurement at some moment, as a cancel or at once, and records what is left of it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { lockHost } from '../../src/io/machine/lock.ts'
import { anExperiment, anExperimentByTorchrun, TRAINERS } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { isLocked, PYTHON } from '../fixtures/processes/launching.ts'
import { processesIn } from './processes.ts'
import type { RunningAction } from './runner.ts'
import { startMeasuring, startServices } from './speedproof.ts'

export interface Kill {
  afterMilliseconds: number
  /** The runner's sequence of signals, or SIGKILL out of nowhere. */
  how: 'cancel' | 'kill'
}

/** What starts the ranks: torchrun, or what stands in for it and is there at once. */
export type Launcher = 'torchrun' | 'stand-in'

export interface KillRecord extends Kill {
  /** The last line that the step wrote about its launches: where it was. */
  stage: string
  mainEndedBy: string
  postExitCode: number | null
  processesLeft: number
  /** What forks and exits without pause has no process id for long, but a lock. */
  isForkingLeft: boolean
  isLockHeld: boolean
  /** Launches before the last that was started: each was saved before the next began. */
  launchesDone: number
  launchesKept: number
  verdict: string | null
  checks: string[]
}

const CLINGING = {
  trainer: { script: join(TRAINERS, 'clinging.py') },
  launch: { nproc_per_node: 2 },
  baseline: { step_seconds: 0.02 },
  optimized: { step_seconds: 0.01 },
}

const clinging = (launcher: Launcher) =>
  launcher === 'torchrun' ? anExperimentByTorchrun(CLINGING) : anExperiment(CLINGING)

/** How long the measurement takes when nobody ends it. */
export async function undisturbedMilliseconds(launcher: Launcher): Promise<number> {
  const started = performance.now()
  await using services = await startServices()
  await using action = await startMeasuring(await clinging(launcher), services)
  const { main } = await action.finished
  // Without a verdict there was no measurement to end.
  if (!main.outputs.verdict) throw new Error(main.lines.join('\n'))
  return performance.now() - started
}

export async function endAfter(kill: Kill, launcher: Launcher): Promise<KillRecord> {
  const folder = await clinging(launcher)
  await using services = await startServices()
  await using action = await startMeasuring(folder, services)
  await Promise.race([sleep(kill.afterMilliseconds), action.finished])
  const { main, post, mainEndedBy } = await end(action, kill.how)
  const places = main.lines.filter((line) => /^\[\d+\/\d+\]/.test(line))
  const started = places.filter((line) => line.endsWith('starting')).length
  return {
    ...kill,
    stage: places.at(-1) ?? 'before the first launch',
    mainEndedBy,
    postExitCode: post?.exitCode ?? null,
    processesLeft: processesIn(folder).length,
    isForkingLeft: await isLocked(join(folder, 'forking.lock')),
    isLockHeld: await isLockHeld(action.temp),
    launchesDone: Math.max(0, started - 1),
    launchesKept: await keptLaunches(folder),
    verdict: main.outputs.verdict ?? null,
    checks: services.github.checks.map(({ status, conclusion }) => `${status} ${conclusion ?? ''}`.trim()),
  }
}

async function end(action: RunningAction, how: Kill['how']) {
  if (how === 'cancel') {
    const ended = await action.cancel()
    return { ...ended, mainEndedBy: ended.main.signal ?? `exit code ${ended.main.exitCode}` }
  }
  try {
    process.kill(action.pid, 'SIGKILL')
  } catch {
    // It was done before.
  }
  const ended = await action.finished
  return { ...ended, mainEndedBy: ended.main.signal ?? `exit code ${ended.main.exitCode}` }
}

async function isLockHeld(folder: string): Promise<boolean> {
  let isHeld = false
  await using _lock = await lockHost({
    names: ['cpu'],
    folder,
    python: PYTHON,
    limitMinutes: 1,
    cancelled: new AbortController().signal,
    onWait: () => {
      isHeld = true
    },
  })
  return isHeld
}

async function keptLaunches(folder: string): Promise<number> {
  if (!existsSync(join(folder, 'out', 'result.json'))) return 0
  const { outcomes } = await readResult(folder)
  return outcomes.filter(({ status }) => status === 'finished').length
}
