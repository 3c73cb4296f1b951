// A detached git worktree of one commit, in the job's own folder, for as long as it is needed.
import { existsSync } from 'node:fs'
import { mkdir, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ConfigError, messageOf } from '../../errors.ts'
import { makeFolder } from '../folder/make-folder.ts'
import { git, type Repository } from './git.ts'

export interface Worktree extends AsyncDisposable {
  /** What the working directory is in the checkout that this was made from. */
  readonly workingDirectory: string
}

/** Throws a ConfigError if git cannot make it; what a killed job left in the folder is removed first. */
export async function addWorktree(
  folder: string,
  commit: string,
  sharedPaths: readonly string[],
  repository: Repository,
): Promise<Worktree> {
  await using taking = new AsyncDisposableStack()
  taking.defer(async () => {
    // A full disk or a busy file must not turn a verdict into an error: the next job removes what is left.
    await removeWorktree(folder, repository.workingDirectory).catch(() => {})
  })
  await removeWorktree(folder, repository.workingDirectory)
  await makeParent(folder)
  const prefix = await git(repository, 'rev-parse', '--show-prefix')
  const added = await git(repository, 'worktree', 'add', '--detach', folder, commit)
  for (const answer of [prefix, added]) {
    if (answer.status === 'refused')
      throw new ConfigError(
        `git cannot check out ${commit} in ${folder}. Fix what git reports, such as a full disk or a commit that must be fetched, and run again:\n${answer.why}`,
      )
  }
  const workingDirectory = join(folder, prefix.status === 'done' ? prefix.text : '')
  await mkdir(workingDirectory, { recursive: true })
  for (const path of sharedPaths) await share(path, repository.workingDirectory, workingDirectory)
  const taken = taking.move()
  return { workingDirectory, [Symbol.asyncDispose]: () => taken.disposeAsync() }
}

/** Also for the post step of a job that was killed; true if something was there. */
export async function removeWorktree(folder: string, workingDirectory: string): Promise<boolean> {
  const wasThere = existsSync(folder)
  await rm(folder, { recursive: true, force: true })
  // Not the signal of the job: a cancelled one has worktrees to give back too.
  const repository = { workingDirectory, cancelled: new AbortController().signal }
  // Forced twice, git also forgets one whose making was interrupted; it refuses where it knows of none.
  await git(repository, 'worktree', 'remove', '--force', '--force', folder)
  return wasThere
}

async function makeParent(folder: string): Promise<void> {
  try {
    await makeFolder(dirname(folder))
  } catch (error) {
    throw new ConfigError(
      `out: got "${dirname(folder)}", which cannot be written (${messageOf(error)}); name another folder`,
    )
  }
}

/** Made where it does not exist yet: a trainer may fill it. */
async function share(path: string, from: string, to: string): Promise<void> {
  if (existsSync(join(to, path))) {
    throw new ConfigError(
      `launch.shared_paths: got "${path}", which is part of the revision itself and cannot be shared. Leave it out`,
    )
  }
  await mkdir(join(from, path), { recursive: true })
  await mkdir(dirname(join(to, path)), { recursive: true })
  await symlink(join(from, path), join(to, path))
}
