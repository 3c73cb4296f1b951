// A recorded experiment or ladder for a test, unpacked in a folder of its own.
import { join } from 'node:path'
import { unpack } from '../../benchmarks/archive/pack.ts'
import { aFolder } from '../fixtures/processes/launching.ts'

/** The folder of a record, such as `gate/two-task-2gpu`. */
export async function aRecord(name: string): Promise<string> {
  const folder = await aFolder()
  unpack(name, folder)
  return join(folder, name)
}
