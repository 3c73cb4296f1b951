// A virtual environment made from a lock, once for each content of it: complete, or not there at all.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Lock } from '../../config/revisions/sources.ts'
import { ConfigError } from '../../errors.ts'
import { shellQuote } from '../../text/shell-quote.ts'
import { writeOwnFile } from '../folder/own-file.ts'
import { lastLines } from '../process/log/quote-output.ts'
import { runShort } from '../process/short-command.ts'

export interface EnvironmentRequest {
  /** Holds one folder for each environment. */
  readonly folder: string
  readonly lock: Lock
  /** Relative to the working directory; its own relative paths are too. */
  readonly lockFile: string
  readonly workingDirectory: string
  /** Of which the environment is one. */
  readonly python: string
  readonly environment: Record<string, string>
  readonly cancelled: AbortSignal
  /** Called when there is something to install. */
  readonly onInstall: () => void
}

/** A cold download of torch with its CUDA libraries is 5 GB. */
const LIMIT_SECONDS = 60 * 60
/** Written last: a folder without it is what an interrupted installation left. */
const COMPLETE = '.speedproof-complete'

/** Its interpreter. Throws a ConfigError with the command and its last lines, and a CancelledError on a cancel. */
export async function environmentFor(request: EnvironmentRequest): Promise<string> {
  const { lockFile, python, onInstall } = request
  const folder = join(request.folder, await keyOf(request))
  const interpreter = join(folder, 'bin', 'python')
  if (existsSync(join(folder, COMPLETE))) return interpreter
  onInstall()
  await rm(folder, { recursive: true, force: true })
  await mkdir(dirname(folder), { recursive: true })
  await using half = new AsyncDisposableStack()
  half.defer(() => rm(folder, { recursive: true, force: true }))
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check', '-r', lockFile]
  await answerOf([python, '-m', 'venv', folder], request)
  await answerOf([interpreter, ...pip], request)
  await writeOwnFile(join(folder, COMPLETE), '')
  half.move()
  return interpreter
}

/** Environments of two interpreters are two, whatever they hold. */
async function keyOf(request: EnvironmentRequest): Promise<string> {
  const probe = 'import sys; print(sys.version, sys.base_prefix)'
  const identity = await answerOf([request.python, '-c', probe], request)
  return createHash('sha256').update(request.lock.sha256).update(identity).digest('hex').slice(0, 16)
}

async function answerOf(command: readonly string[], request: EnvironmentRequest): Promise<string> {
  const { lockFile, workingDirectory, environment, cancelled } = request
  const end = await runShort(command, workingDirectory, environment, cancelled, LIMIT_SECONDS)
  if (end.status === 'ended' && end.exitCode === 0) return end.stdout
  const why =
    end.status === 'ended'
      ? `ended with ${end.exitCode}:\n${lastLines(end.stderr || end.stdout)}`
      : `failed: ${end.message}`
  throw new ConfigError(
    `launch.requirements: no environment can be made from ${join(workingDirectory, lockFile)}. Fix what this command reports: ${command.map(shellQuote).join(' ')} ${why}`,
  )
}
