// Reads metrics.jsonl and machine.jsonl of a run with bounded memory; what is wrong with them becomes part of the record.

import { createReadStream } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { messageOf } from '../../errors.ts'
import { MAX_MACHINE_BYTES, type MachineRecord, readMachine } from '../../measure/machine-record.ts'
import { MAX_METRICS_BYTES, type MetricsRecord, metricsProblem, readMetrics } from '../../read/speedproof.ts'

export async function readMetricsFile(path: string): Promise<MetricsRecord> {
  try {
    const status = await lstat(path)
    // A pipe would block the reader, a link could point anywhere.
    if (!status.isFile()) return metricsProblem('malformed', 'metrics.jsonl is not a regular file')
    if (status.size > MAX_METRICS_BYTES) return metricsProblem('too-large', tooLarge(status.size))
    return await readMetrics(linesOf(createReadStream(path, 'utf8')))
  } catch (error) {
    if (isAbsent(error))
      return metricsProblem(
        'absent',
        `${path} is absent: the trainer wrote none into --out, or it was removed`,
      )
    return metricsProblem('malformed', `metrics.jsonl cannot be read: ${messageOf(error)}`)
  }
}

/** Ended by \n alone: node:readline takes U+2028 and U+2029 for ends too, which texts in JSON may hold as they are. */
async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let last = ''
  for await (const chunk of chunks) {
    const [first = '', ...others] = chunk.split('\n')
    last += first
    for (const line of others) {
      yield last
      last = line
    }
  }
  if (last !== '') yield last
}

function tooLarge(bytes: number): string {
  return `metrics.jsonl has ${bytes} bytes, at most ${MAX_METRICS_BYTES} are read: write fewer events, with more steps in each window`
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

/** Null for a file that is absent, no plain file, or larger than we write it: then nothing was measured. */
export async function readMachineFile(path: string): Promise<MachineRecord | null> {
  const found = await lstat(path).catch(() => null)
  if (!found?.isFile() || found.size > 2 * MAX_MACHINE_BYTES) return null
  return readMachine(createInterface({ input: createReadStream(path) }))
}
