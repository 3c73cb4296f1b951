// Ends every process that carries a run's marker, and all that descends from one that does.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RunError } from '../../errors.ts'
import { packageRoot } from '../system/package-root.ts'
import { hasArgument, hasVariable, listProcesses, withDescendants } from './process-table.ts'

/** The environment variable that tells the processes of one launch from all others. */
export const MARKER_VARIABLE = 'SPEEDPROOF_RUN_MARKER'

const MARKER = /^speedproof-[0-9a-f-]{36}$/
const POLL_MILLISECONDS = 20
const ROUNDS_BEFORE_ROOTS = 10
/** Of a launch; what it adopts it ends itself, and what it cannot end within 30 s it leaves. */
export const REAPER = join(packageRoot(), 'src', 'io', 'process', 'reaper.py')
const REAPER_MILLISECONDS = 35_000
/** One that takes so long has given up. */
const SURRENDER_MILLISECONDS = 29_000
/** SIGKILL cannot be ignored; what outlives it this long hangs in a driver. */
const SURVIVAL_SECONDS = 5

export function newMarker(): string {
  return `speedproof-${randomUUID()}`
}

export interface Swept {
  ended: number
  /** What no reaper has ended to the last may have got out of sight. */
  mayBeLeft: boolean
}

/** After a Speedproof that was killed. Its reaper gets time first, since it alone finds every process. */
export async function sweepAfterReaper(marker: string): Promise<Swept> {
  const found = findMarked(marker)
  const reapers = [...found.roots].filter((pid) => hasArgument(pid, REAPER))
  for (const pid of reapers) for (const signal of ['SIGTERM', 'SIGCONT'] as const) kill(pid, signal)
  const started = performance.now()
  const deadline = started + REAPER_MILLISECONDS
  const isAtWork = () => reapers.some((pid) => hasVariable(pid, MARKER_VARIABLE, marker))
  while (isAtWork() && performance.now() < deadline) await sleep(POLL_MILLISECONDS)
  const hasGivenUp = performance.now() - started > SURRENDER_MILLISECONDS
  const mayBeLeft = hasGivenUp || (found.all.size > 0 && reapers.length === 0)
  const killed = await sweep(marker)
  return { ended: Math.max(found.all.size, killed), mayBeLeft }
}

/** Sends SIGKILL until nothing is left and returns how many processes that took. */
export async function sweep(marker: string): Promise<number> {
  const killed = new Set<number>()
  const deadline = performance.now() + SURVIVAL_SECONDS * 1000
  for (let round = 0; ; round++) {
    const victims = killRound(marker, round < ROUNDS_BEFORE_ROOTS)
    if (victims.length === 0) return killed.size
    for (const pid of victims) killed.add(pid)
    if (performance.now() > deadline) throw new RunError(survivorsMessage(victims))
    await sleep(POLL_MILLISECONDS)
  }
}

/**
 * The reaper adopts orphans, so it goes last: killed first, it would hand processes that cleared their
 * environment to init, out of our sight. A root that keeps forking is not spared for long.
 */
function killRound(marker: string, isSparingRoots: boolean): number[] {
  const { all, roots } = findMarked(marker)
  const below = [...all].filter((pid) => !roots.has(pid))
  return (isSparingRoots && below.length > 0 ? below : [...all]).filter((pid) => kill(pid, 'SIGKILL'))
}

/** All that carry the marker or descend from one that does; `roots` are those whose parent does not carry it. */
function findMarked(marker: string): { all: ReadonlySet<number>; roots: ReadonlySet<number> } {
  // Text from elsewhere could match the environment of processes that are not ours.
  if (!MARKER.test(marker)) throw new Error(`not a run marker: ${JSON.stringify(marker)}`)
  const processes = listProcesses().filter(({ pid }) => pid !== process.pid)
  const marked = processes.filter(({ pid }) => hasVariable(pid, MARKER_VARIABLE, marker))
  const markedPids = new Set(marked.map(({ pid }) => pid))
  const roots = new Set(marked.filter(({ parent }) => !markedPids.has(parent)).map(({ pid }) => pid))
  return { all: withDescendants(markedPids, processes), roots }
}

/** False for a process that has vanished or belongs to somebody else. */
function kill(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

function survivorsMessage(pids: readonly number[]): string {
  return `processes ${pids.join(', ')}: still running ${SURVIVAL_SECONDS} s after SIGKILL, because they hang in a driver. Restart the machine before measuring on it`
}
