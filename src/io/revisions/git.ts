// Asks git; what it says when it refuses is for people.

import { lastLines } from '../process/log/quote-output.ts'
import { runShort } from '../process/short-command.ts'
import { trainerEnvironment } from '../process/trainer-environment.ts'

export interface Repository {
  /** Any folder of its working tree. */
  readonly workingDirectory: string
  readonly cancelled: AbortSignal
}

export type GitAnswer =
  | { readonly status: 'done'; readonly text: string }
  | { readonly status: 'refused'; readonly why: string }

/** Throws a CancelledError on a cancel. */
export async function git(
  { workingDirectory, cancelled }: Repository,
  ...words: readonly string[]
): Promise<GitAnswer> {
  // A hook of the checkout is code that the user did not ask to run.
  const command = ['git', '-c', 'core.hooksPath=/dev/null', ...words]
  const end = await runShort(command, workingDirectory, trainerEnvironment(process.env, {}), cancelled)
  if (end.status === 'no-answer') return { status: 'refused', why: end.message }
  return end.exitCode === 0
    ? { status: 'done', text: end.stdout.trim() }
    : { status: 'refused', why: lastLines(end.stderr) || `git ended with ${end.exitCode}` }
}
