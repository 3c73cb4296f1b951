// Experiments on the Slurm of the tests, and what they leave there.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { vi } from 'vitest'
import { listProcesses } from '../../src/io/process/process-table.ts'
import {
  anExperiment,
  EXPERIMENT_FILE,
  type ExperimentChanges,
} from '../fixtures/experiments/an-experiment.ts'
import { type RunningCommand, startSpeedproof } from '../harness/command-line.ts'
import { processesIn } from '../harness/processes.ts'

export const PATIENCE = { timeout: 120_000, interval: 100 }

/** On two nodes; `faulty.py` takes a moment, and waits where a test holds a launch. */
export async function onNodes(changes: ExperimentChanges = {}): Promise<string> {
  return await anExperiment({
    ...changes,
    design: { blocks: 2, ...changes.design },
    launch: { engine: 'slurm', nodes: 2, ...changes.launch },
  })
}

/** In an environment that differs from ours; undefined takes a variable away. */
export function start(
  folder: string,
  words: readonly string[] = ['run', EXPERIMENT_FILE],
  environment: Readonly<Record<string, string | undefined>> = {},
): RunningCommand {
  const before = { ...process.env }
  try {
    for (const [name, value] of Object.entries(environment)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    return startSpeedproof(folder, ...words)
  } finally {
    process.env = before
  }
}

/** The launch waits before it trains, until `letGo`. */
export async function hold(folder: string, launch: string): Promise<void> {
  await writeFile(join(folder, `hold-${launch}`), '')
}

export async function letGo(folder: string, launch: string): Promise<void> {
  await rm(join(folder, `hold-${launch}`))
}

/** Until both ranks of the launch are there. */
export async function ranksOf(folder: string, launch: string, count = 2): Promise<number[]> {
  const ranks = () =>
    processesIn(folder).filter((pid) => {
      const variables = variablesOf(pid)
      return (
        variables.some((one) => one.startsWith('RANK=')) && wordsOf(pid).join(' ').includes(`/${launch}/`)
      )
    })
  await vi.waitUntil(() => ranks().length === count, PATIENCE)
  return ranks()
}

export function variablesOf(pid: number): string[] {
  return textOf(`/proc/${pid}/environ`).split('\0')
}

export function wordsOf(pid: number): string[] {
  return textOf(`/proc/${pid}/cmdline`).split('\0')
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Whose command line has all of these: a host may have several clusters, with nodes and jobs of the same names. */
export function processesWith(...texts: readonly string[]): number[] {
  return listProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => texts.every((text) => wordsOf(pid).join(' ').includes(text)))
}

export async function slurm(program: string, ...words: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, words)
  return stdout.trim()
}

/** Of the last allocation of the experiment. */
export async function jobOf(running: RunningCommand): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  running.onOutput((text) => {
    const found = /in its queue as job (\d+)/.exec(text)
    if (found?.[1] !== undefined) resolve(found[1])
  })
  return await promise
}

export async function isOver(jobId: string): Promise<void> {
  await vi.waitUntil(async () => !(await isInQueue(jobId)), PATIENCE)
}

export async function isInQueue(jobId: string): Promise<boolean> {
  const listed = await slurm('squeue', '--noheader', '--format=%i')
  return listed.split('\n').includes(jobId)
}

/** Nothing works in the folder any more, on any node. */
export async function isEmpty(folder: string): Promise<void> {
  await vi.waitUntil(() => processesIn(folder).length === 0, PATIENCE)
}
