// Runs a command of a few seconds that writes little; trainings go through the supervisor instead.
import { getExecOutput } from '@actions/exec'
import { messageOf } from '../error-message.ts'

export type ShortCommandEnd =
  | { readonly status: 'ended'; readonly exitCode: number; readonly stdout: string; readonly stderr: string }
  | { readonly status: 'not-started'; readonly message: string }

export async function runShort(
  [program = '', ...arguments_]: readonly string[],
  workingDirectory: string,
  environment: Record<string, string>,
): Promise<ShortCommandEnd> {
  try {
    const options = { cwd: workingDirectory, env: environment, silent: true, ignoreReturnCode: true }
    // @actions/exec splits its first argument at blanks unless it is quoted.
    return { status: 'ended', ...(await getExecOutput(`"${program}"`, [...arguments_], options)) }
  } catch (error) {
    return { status: 'not-started', message: messageOf(error) }
  }
}
