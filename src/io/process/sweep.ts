// Ends every process that carries a run's marker, and all that descends from one that does.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { RunError } from '../../errors.ts'
import { hasVariable, listProcesses, withDescendants } from './process-table.ts'

/** The environment variable that tells the processes of one launch from all others. */
export const MARKER_VARIABLE = 'SPEEDPROOF_RUN_MARKER'

const MARKER = /^speedproof-[0-9a-f-]{36}$/
const POLL_MILLISECONDS = 20
const ROUNDS_BEFORE_ROOTS = 10
/** SIGKILL cannot be ignored; what outlives it this long hangs in a driver. */
const SURVIVAL_SECONDS = 5

export function newMarker(): string {
  return `speedproof-${randomUUID()}`
}

/** Sends SIGKILL until nothing is left and returns how many processes that took. */
export async function sweep(marker: string): Promise<number> {
  // Text from elsewhere could match the environment of processes that are not ours.
  if (!MARKER.test(marker)) throw new Error(`not a run marker: ${JSON.stringify(marker)}`)
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
  const processes = listProcesses().filter(({ pid }) => pid !== process.pid)
  const marked = processes.filter(({ pid }) => hasVariable(pid, MARKER_VARIABLE, marker))
  const markedPids = new Set(marked.map(({ pid }) => pid))
  const roots = new Set(marked.filter(({ parent }) => !markedPids.has(parent)).map(({ pid }) => pid))
  const all = withDescendants(markedPids, processes)
  const below = [...all].filter((pid) => !roots.has(pid))
  return (isSparingRoots && below.length > 0 ? below : [...all]).filter(kill)
}

/** False for a process that has vanished or belongs to somebody else. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}

function survivorsMessage(pids: readonly number[]): string {
  return `processes ${pids.join(', ')}: still running ${SURVIVAL_SECONDS} s after SIGKILL, because they hang in a driver. Restart the machine before measuring on it`
}
