// Reads the running processes from /proc: who is whose parent, and who carries a run's marker.
import { readdirSync, readFileSync } from 'node:fs'

export interface Process {
  pid: number
  parent: number
}

/** Every process that still runs. Empty where there is no /proc. */
export function listProcesses(): Process[] {
  return pids().flatMap((pid) => {
    const parent = livingParent(pid)
    return parent === undefined ? [] : [{ pid, parent }]
  })
}

/** True when the process was started with NAME=value in its environment and we may read that. */
export function hasVariable(pid: number, name: string, value: string): boolean {
  const environment = readProc(`/proc/${pid}/environ`)
  return environment !== undefined && `\0${environment}`.includes(`\0${name}=${value}\0`)
}

/** True when the process was started with this program or argument. */
export function hasArgument(pid: number, argument: string): boolean {
  return readProc(`/proc/${pid}/cmdline`)?.split('\0').includes(argument) ?? false
}

/** The given roots and all that descends from them. */
export function withDescendants(roots: ReadonlySet<number>, processes: readonly Process[]): Set<number> {
  const children = Map.groupBy(processes, (process) => process.parent)
  const found = new Set(roots)
  // A set may grow while it is walked: those added are visited too.
  for (const pid of found) {
    for (const child of children.get(pid) ?? []) found.add(child.pid)
  }
  return found
}

function pids(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}

function livingParent(pid: number): number | undefined {
  const stat = readProc(`/proc/${pid}/stat`)
  if (stat === undefined) return undefined
  // The name, in parentheses, may itself hold blanks and parentheses. Fields 3, 4 and 20 of proc_pid_stat(5).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, parent, threads] = [fields[0], fields[1], fields[17]]
  // A process whose first thread has ended looks like a zombie while its other threads run on.
  const isOver = (state === 'Z' || state === 'X') && Number(threads) <= 1
  return isOver ? undefined : Number(parent)
}

/** Undefined for a process that has vanished or belongs to somebody else. */
function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}
