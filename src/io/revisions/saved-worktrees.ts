// The worktrees of an action between its main and its post step, as text.
import { z } from 'zod'
import { removeWorktree } from './worktree.ts'

const savedWorktrees = z.object({ workingDirectory: z.string(), folders: z.array(z.string()) })

type SavedWorktrees = z.infer<typeof savedWorktrees>

export function worktreesText(saved: SavedWorktrees): string {
  return JSON.stringify(saved)
}

/** Returns how many were still there; '' stands for none. */
export async function removeSavedWorktrees(text: string): Promise<number> {
  if (text === '') return 0
  const { workingDirectory, folders } = savedWorktrees.parse(JSON.parse(text))
  let removed = 0
  for (const folder of folders) if (await removeWorktree(folder, workingDirectory)) removed += 1
  return removed
}
