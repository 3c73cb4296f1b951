// Asks git; what it says when it refuses is for people.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { shellQuote } from '../../text/shell-quote.ts'
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

/** Null outside of a checkout, and where git reads it; else why not, with the command that mends it. */
export async function refusalOfCheckout(repository: Repository): Promise<string | null> {
  const folder = checkoutAround(repository.workingDirectory)
  if (folder === null) return null
  const asked = await git(repository, 'rev-parse', '--is-shallow-repository')
  if (asked.status === 'done') return null
  // In any language, git names the setting by which it takes the folder of another user.
  const isForeign = asked.why.includes('safe.directory') || asked.why.includes('dubious ownership')
  const mend = isForeign ? `Run git config --global --add safe.directory ${shellQuote(folder)}` : 'Fix it'
  return `git does not read the checkout in ${folder}. ${mend}. It says:\n${asked.why}`
}

/** The nearest folder above with a .git, which is a file in a worktree. */
export function checkoutAround(folder: string): string | null {
  if (existsSync(join(folder, '.git'))) return folder
  const above = dirname(folder)
  return above === folder ? null : checkoutAround(above)
}
