// Which commit the working directory is at.
import { getExecOutput } from '@actions/exec'
import { trainerEnvironment } from './process/trainer-environment.ts'

/** `-dirty` if files that git tracks were changed; null outside of a git checkout, or without git. */
export async function revisionOf(workingDirectory: string): Promise<string | null> {
  const options = {
    cwd: workingDirectory,
    env: trainerEnvironment(process.env, {}),
    silent: true,
    ignoreReturnCode: true,
  }
  try {
    const described = await getExecOutput(
      'git',
      ['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*'],
      options,
    )
    const revision = described.stdout.trim()
    return /^[0-9a-f]{40,64}(-dirty)?$/.test(revision) ? revision : null
  } catch {
    return null // @actions/exec throws when there is no git.
  }
}
