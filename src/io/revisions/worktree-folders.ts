// Where worktrees lie: a folder for each process, so that one that waits for the machine disturbs none that runs.
import { readdir, rm, rmdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { removeWorktree } from './worktree.ts'

export function ownWorktrees(outDirectory: string): string {
  return join(outDirectory, 'worktrees', `${hostname()}-${process.pid}`)
}

/** When the worktrees are gone: folders of other processes stay. */
export async function removeEmptyFolders(outDirectory: string): Promise<void> {
  const own = ownWorktrees(outDirectory)
  for (const folder of [own, dirname(own)]) await rmdir(folder).catch(() => {})
}

/** What killed processes of this host have left. */
export async function removeAbandoned(outDirectory: string, workingDirectory: string): Promise<void> {
  const all = join(outDirectory, 'worktrees')
  const jobs = await readdir(all).catch(() => [])
  for (const job of jobs.filter(isAbandoned)) {
    for (const variant of await readdir(join(all, job))) {
      await removeWorktree(join(all, job, variant), workingDirectory)
    }
    await rm(join(all, job), { recursive: true, force: true })
  }
}

function isAbandoned(job: string): boolean {
  const [, host, pid] = /^(.*)-(\d+)$/.exec(job) ?? []
  return host === hostname() && Number(pid) !== process.pid && !isRunning(Number(pid))
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
