// Finds the processes of one experiment by the folder they work in, whatever they did to their environment.
import { readlinkSync } from 'node:fs'
import { listProcesses } from '../../src/io/process/process-table.ts'

/** The ids of those that run in this very folder. Nothing that an experiment starts leaves it. */
export function processesIn(folder: string): number[] {
  return listProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => workingDirectory(pid) === folder)
}

/** Undefined for a process that has vanished or belongs to somebody else. */
function workingDirectory(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return undefined
  }
}
