// Reads a file of a branch through GitHub, so that nothing of a pull request is checked out or run.
import { posix } from 'node:path'
import { z } from 'zod'
import { ConfigError } from '../../../errors.ts'
import { isNotFound } from '../api-error.ts'
import type { GitHub, Repository } from '../client.ts'

export interface BaseFile {
  readonly text: string
  readonly branch: string
  /** The branch's commit that the file is of. */
  readonly commit: string
}

/** Over 1 MB, GitHub gives a file without its content. */
const file = z.object({
  type: z.literal('file'),
  encoding: z.literal('base64'),
  content: z.string(),
})

/** Throws a ConfigError when the branch has no such file. */
export async function readBaseFile(
  github: GitHub,
  repository: Repository,
  branch: string,
  path: string,
): Promise<BaseFile> {
  // By its commit: a tag may have the name of a branch.
  const { commit } = (await github.rest.repos.getBranch({ ...repository, branch })).data
  const bytes = await readFileAt(github, repository, commit.sha, path)
  if (bytes === 'absent') throw absent(path, branch, 'is not there')
  if (bytes === 'no file') throw absent(path, branch, 'is not a text file')
  return { text: bytes.toString('utf8'), branch, commit: commit.sha }
}

/** Of one commit. */
export async function readFileAt(
  github: GitHub,
  { owner, repo }: Repository,
  commit: string,
  path: string,
): Promise<Buffer | 'absent' | 'no file'> {
  try {
    const { data } = await github.rest.repos.getContent({ owner, repo, path, ref: commit })
    return Buffer.from(file.parse(data).content, 'base64')
  } catch (error) {
    if (isNotFound(error)) return 'absent'
    if (error instanceof z.ZodError) return 'no file'
    throw error
  }
}

/** Throws a ConfigError for a path that leaves the repository. */
export function pathInRepository(workingDirectory: string, path: string): string {
  const joined = posix.join(workingDirectory, path)
  if (!posix.isAbsolute(joined) && joined !== '..' && !joined.startsWith('../')) return joined
  throw new ConfigError(
    `experiment: got ${JSON.stringify(joined)}, expected a path inside of the repository, since a report reads it from the base branch`,
  )
}

function absent(path: string, branch: string, problem: string): ConfigError {
  return new ConfigError(
    `experiment: ${path} ${problem} on ${branch}; a report takes experiment and gates from the base branch, so merge the experiment first`,
  )
}
