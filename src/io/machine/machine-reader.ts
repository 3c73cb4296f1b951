// Reads machine.jsonl of a run.
import { createReadStream } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { MAX_MACHINE_BYTES, type MachineRecord, readMachine } from '../../measure/machine-record.ts'

/** Null for a file that is absent, no plain file, or larger than we write it: then nothing was measured. */
export async function readMachineFile(path: string): Promise<MachineRecord | null> {
  const found = await lstat(path).catch(() => null)
  if (!found?.isFile() || found.size > 2 * MAX_MACHINE_BYTES) return null
  return readMachine(createInterface({ input: createReadStream(path) }))
}
