// Which commit the working directory is at, and which files that commit does not contain.
import { git, type Repository } from './git.ts'

/** `-dirty` if files that git tracks were changed; null outside of a git checkout, or without git. */
export async function revisionOf(repository: Repository): Promise<string | null> {
  const described = await git(repository, 'describe', '--always', '--dirty', '--abbrev=40', '--exclude=*')
  const revision = described.status === 'done' ? described.text : ''
  return /^[0-9a-f]{40,64}(-dirty)?$/.test(revision) ? revision : null
}

/** Of these files, those that no commit can have; what lies outside of the repository is one of them. */
export async function untrackedOf(
  repository: Repository,
  files: readonly string[],
): Promise<readonly string[]> {
  const untracked: string[] = []
  for (const file of new Set(files)) {
    const found = await git(repository, '--literal-pathspecs', 'ls-files', '--error-unmatch', '--', file)
    if (found.status === 'refused') untracked.push(file)
  }
  return untracked
}
