// Which commit the working directory is at.
import { git, type Repository } from './git.ts'

/** `-dirty` if files that git tracks were changed; null outside of a git checkout, or without git. */
export async function revisionOf(repository: Repository): Promise<string | null> {
  const described = await git(repository, 'describe', '--always', '--dirty', '--abbrev=40', '--exclude=*')
  const revision = described.status === 'done' ? described.text : ''
  return /^[0-9a-f]{40,64}(-dirty)?$/.test(revision) ? revision : null
}
