// The worktrees of an action between its main and its post step, as text.
import { relative, sep } from 'node:path'
import { z } from 'zod'
import { RunError } from '../../errors.ts'
import { tryParseJson } from '../system/parse-json.ts'
import { removeWorktree } from './worktree.ts'

const folderList = z.array(z.string())

/** Returns how many were still there; '' stands for none. Throws a RunError for a text that is not ours. */
export async function removeSavedWorktrees(
  text: string,
  outDirectory: string,
  workingDirectory: string,
): Promise<number> {
  if (text === '') return 0
  const folders = folderList.safeParse(tryParseJson(text)).data
  if (folders === undefined || !folders.every((folder) => isWorktree(folder, outDirectory)))
    throw new RunError(`worktrees: got ${text.slice(0, 200)}, expected folders below ${outDirectory}`)
  let removed = 0
  for (const folder of folders) if (await removeWorktree(folder, workingDirectory)) removed += 1
  return removed
}

/** As worktree-folders.ts makes them. */
function isWorktree(folder: string, outDirectory: string): boolean {
  const parts = relative(outDirectory, folder).split(sep)
  return parts[0] !== '..' && parts.slice(0, -1).includes('worktrees')
}
