// Makes the folders that a person names, or says why they cannot be.
import { constants, existsSync, lstatSync, readlinkSync, statSync } from 'node:fs'
import { access, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

/** One level after the other: a recursive mkdir below /proc never comes back (seen with Node 20 and 24). */
export async function makeFolder(path: string): Promise<void> {
  if (existsSync(path)) {
    if (!statSync(path).isDirectory()) throw new Error(`${path} is a file`)
    return await access(path, constants.W_OK)
  }
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
    throw new Error(`${path} is a link to ${readlinkSync(path)}, which does not exist`)
  await makeFolder(dirname(path))
  await mkdir(path).catch((error: unknown) => {
    // Another process that shares the folder may have been faster.
    if (!existsSync(path)) throw error
  })
}
