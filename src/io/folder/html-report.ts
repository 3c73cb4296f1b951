// Writes an HTML report to where somebody has asked for it.
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ConfigError, messageOf } from '../../errors.ts'

/** Throws a ConfigError for a place that cannot be written. */
export async function writeReport(path: string, page: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, page)
  } catch (error) {
    throw new ConfigError(
      `--html: got "${path}", which cannot be written (${messageOf(error)}). Name another file`,
    )
  }
}
