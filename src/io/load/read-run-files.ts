// Opens what a run has left, with bounded memory: the source of its metrics for a reader, and machine.jsonl.

import { createReadStream } from 'node:fs'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { messageOf } from '../../errors.ts'
import {
  MAX_MACHINE_BYTES,
  type MachineRecord,
  readMachine,
  withSteps,
} from '../../measure/machine-record.ts'
import { checkMetrics } from '../../read/check-metrics.ts'
import type { MetricsProblem } from '../../read/event-problems.ts'
import { linesOf } from '../../read/lines.ts'
import type { MetricsRecord } from '../../read/metrics-record.ts'
import { metricsProblem, readMetrics } from '../../read/read-metrics.ts'
import { COLLECTION_PROBLEM, type Reader } from '../../read/reader.ts'
import { OF_ANOTHER_NODE } from '../folder/evidence.ts'
import { plainText } from '../system/sanitize.ts'

/** What is wrong with the files becomes part of the record. `folder`: of the run. */
export async function readRunMetrics(folder: string, reader: Reader): Promise<MetricsRecord> {
  const problem = await sourceProblem(folder, reader)
  if (problem) return metricsProblem(problem.kind, problem.message)
  try {
    return await readMetrics(reader, (file) => createReadStream(join(folder, file)))
  } catch (error) {
    return metricsProblem('malformed', cannotBeRead(join(folder, reader.files[0]), error))
  }
}

/** All that is wrong with them, up to `most`: for a person who mends them. */
export async function checkRunMetrics(
  folder: string,
  reader: Reader,
  most: number,
): Promise<readonly MetricsProblem[]> {
  const problem = await sourceProblem(folder, reader)
  if (problem) return [problem]
  try {
    return (await checkMetrics(reader, (file) => createReadStream(join(folder, file)), most)).problems
  } catch (error) {
    return [{ kind: 'malformed', message: cannotBeRead(join(folder, reader.files[0]), error) }]
  }
}

/** Of the first file that cannot be opened. */
async function sourceProblem(folder: string, reader: Reader): Promise<MetricsProblem | null> {
  for (const file of reader.files) {
    const problem =
      (reader.collected && (await collectionProblem(folder))) ??
      (await problemOf(join(folder, file), reader.maxBytes, reader.absent))
    if (problem) return problem
  }
  return null
}

/** The same files as lines, to be kept in a record; null if one of them cannot be read: the outcome of the launch says why. */
export async function keptMetrics(folder: string, reader: Reader): Promise<Record<string, string[]> | null> {
  const kept: Record<string, string[]> = {}
  for (const file of reader.files) {
    const path = join(folder, file)
    if ((await problemOf(path, reader.maxBytes)) !== null) return null
    const lines: string[] = []
    try {
      for await (const line of linesOf(createReadStream(path))) lines.push(line)
    } catch {
      return null
    }
    kept[file] = lines
  }
  return kept
}

/** Why nothing was collected after the launch; a longer text was not written by us. */
async function collectionProblem(folder: string): Promise<MetricsProblem | null> {
  const path = join(folder, COLLECTION_PROBLEM)
  const found = await lstat(path).catch(() => null)
  if (!found?.isFile() || found.size > MAX_PROBLEM_BYTES) return null
  return { kind: 'absent', message: plainText(await readFile(path, 'utf8')) }
}

const MAX_PROBLEM_BYTES = 4096

async function problemOf(
  path: string,
  maxBytes: number,
  absent = 'the trainer did not write it into --out, or it was removed',
): Promise<MetricsProblem | null> {
  const name = basename(path)
  try {
    const status = await lstat(path)
    // A pipe would block the reader, a link could point anywhere.
    if (!status.isFile())
      return {
        kind: 'malformed',
        message: `${name} is not a regular file. Write the metrics into a plain file`,
      }
    if (status.size <= maxBytes) return null
    return {
      kind: 'too-large',
      message: `${name} has ${status.size} bytes, expected at most ${maxBytes}. Write fewer events, with more steps in each window`,
    }
  } catch (error) {
    if (!isAbsent(error)) return { kind: 'malformed', message: cannotBeRead(path, error) }
    return { kind: 'absent', message: `${path} is missing: ${absent}` }
  }
}

function cannotBeRead(path: string, error: unknown): string {
  return `${basename(path)} cannot be read: ${messageOf(error)}`
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

/**
 * What was seen of each node in a launch, the first node first; null where nothing was. A node without a record is left out,
 * and what is judged knows how many there should be. `machineFile`: of the first node, or of the one host. `nodes`: of how
 * many at most; more files than these are somebody else's.
 */
export async function readMachineFiles(
  machineFile: string,
  nodes: number,
): Promise<readonly MachineRecord[] | null> {
  const folder = dirname(machineFile)
  // By the names that they have: after an allocation of other nodes, a launch keeps the names of its own.
  const others = (await readdir(folder).catch(() => [])).filter((name) => OF_ANOTHER_NODE.test(name)).sort()
  const files = [machineFile, ...others.slice(0, nodes - 1).map((name) => join(folder, name))]
  const found: MachineRecord[] = []
  for (const file of files) found.push(...((await readMachineFile(file)) ?? []))
  const told = await readMachineFile(join(folder, STEPS_FILE))
  return found.length === 0 ? null : withSteps(found, told?.[0] ?? null)
}

/** Where other programs watch the nodes, Speedproof's own lines: when which step was reported. */
export const STEPS_FILE = 'steps.jsonl'

/** Null for a file that is absent, no plain file, or larger than we write it: then nothing was measured. */
async function readMachineFile(path: string): Promise<[MachineRecord] | null> {
  const found = await lstat(path).catch(() => null)
  if (!found?.isFile() || found.size > 2 * MAX_MACHINE_BYTES) return null
  const record = await readMachine(linesOf(createReadStream(path)))
  return record && [record]
}
