// What NCCL says about its transports at the start of a launch: asked for by variables, read and removed after it.
import { createReadStream } from 'node:fs'
import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { merged, type Transports, transportsIn } from '../../measure/machine/interconnect.ts'
import { linesOf } from '../../read/lines.ts'
import { makeNewFolder } from '../folder/own-file.ts'

const FOLDER = 'nccl'
/** A rank logs some ten kilobytes at its start, and nothing later. */
const MAX_FILE_BYTES = 4 * 1024 * 1024
const MAX_FILES = 1024
const LOG_VARIABLE = /^NCCL_DEBUG/

export interface NcclLog {
  /** Empty where the experiment or its surroundings say themselves what NCCL logs. */
  readonly variables: Readonly<Record<string, string>>
  /** Undefined where nothing was asked for; null where nothing was said, as without NCCL. Call it once the launch is over. */
  transports(): Promise<Transports | null | undefined>
}

const NOT_ASKED: NcclLog = { variables: {}, transports: async () => undefined }

/** `environment`: all that the launch gets otherwise. One process talks to nobody. */
export async function askNccl(
  runDirectory: string,
  processes: number,
  environment: Readonly<Record<string, string>>,
): Promise<NcclLog> {
  if (processes < 2 || Object.keys(environment).some((name) => LOG_VARIABLE.test(name))) return NOT_ASKED
  const folder = join(runDirectory, FOLDER)
  await makeNewFolder(folder)
  return {
    variables: {
      NCCL_DEBUG: 'INFO',
      // Communicators and their graphs: lines of the start alone, so that no step waits for a log.
      NCCL_DEBUG_SUBSYS: 'INIT,GRAPH',
      NCCL_DEBUG_FILE: join(folder, '%h.%p'),
    },
    async transports() {
      const found = await readLogs(folder)
      await rm(folder, { recursive: true, force: true })
      return found
    },
  }
}

async function readLogs(folder: string): Promise<Transports | null> {
  const names = await readdir(folder).catch(() => [])
  const found: Transports[] = []
  for (const name of names.slice(0, MAX_FILES)) {
    const file = join(folder, name)
    const status = await lstat(file).catch(() => null)
    // The training could have put anything there.
    if (!status?.isFile() || status.size > MAX_FILE_BYTES) continue
    const lines: string[] = []
    for await (const line of linesOf(createReadStream(file))) lines.push(line)
    const transports = transportsIn(lines)
    if (transports !== null) found.push(transports)
  }
  return found.length === 0 ? null : merged(found)
}
