// Starts a command under reaper.py and tells how the command ended.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../errors.ts'
import type { LaunchEnd } from '../../measure/outcome.ts'
import { LineSplitter } from './log/line-splitter.ts'
import { MARKER_VARIABLE, REAPER } from './sweep.ts'

export interface ReaperRequest {
  /** Program and arguments. The program is looked up in the PATH of `environment`. */
  command: readonly string[]
  workingDirectory: string
  /** All that the command sees, but for the marker, and LC_CTYPE=C.UTF-8 if it names no locale (Python's doing). */
  environment: Readonly<Record<string, string>>
  /** Interpreter for the reaper, Python 3.10 or newer; it need not be the one that trains. */
  python: string
  /** Where the caller keeps what it prints, if it does: only to be named in a message. */
  logFile?: string
}

export type NotStarted = Extract<LaunchEnd, { status: 'not-started' }>
type CommandEnd = Extract<LaunchEnd, { status: 'exited' | 'signalled' | 'not-started' }>

export interface Reaper {
  status: 'running'
  output: readonly Readable[]
  /** Fulfilled when the reaper is gone; what it could not end may be left. */
  end: Promise<CommandEnd>
  /** Nothing of the command is left, as it has said, or nothing was ever started. */
  isClean(): boolean
  /** Asks the reaper to end the command and all that descends from it. */
  terminate(): void
}

/** What the reaper said on its control descriptor. */
interface Report {
  hasStarted: boolean
  /** When the command itself was over, by `performance.now()`. */
  endedAt: number | undefined
  isClean: boolean
  failure: string | undefined
}

const DESCRIPTORS = { stdout: 1, stderr: 2, control: 3 } as const

export async function startReaper(request: ReaperRequest, marker: string): Promise<Reaper | NotStarted> {
  // spawn reports a missing folder as a missing program.
  if (!(await isFolder(request.workingDirectory))) {
    return notStarted(`cannot start in "${request.workingDirectory}": there is no such folder`)
  }
  const startedAt = performance.now()
  const child = spawnReaper(request, marker)
  const exit = new Promise<[number | null, string | null]>((resolve) => {
    child.once('exit', (code, signal) => resolve([code, signal]))
  })
  try {
    await once(child, 'spawn')
  } catch (error) {
    return notStarted(`cannot start "${request.python}": ${messageOf(error)}; expected Python 3.10 or newer`)
  }
  const report: Report = { hasStarted: false, endedAt: undefined, isClean: false, failure: undefined }
  const told = listen(streamOf(child, DESCRIPTORS.control), report)
  const end = exit.then(async ([code, signal]) => {
    const exitedAt = performance.now()
    await Promise.race([told, sleep(1000, undefined, { ref: false })])
    return commandEnd(request, report, code, signal, ((report.endedAt ?? exitedAt) - startedAt) / 1000)
  })
  const output = [streamOf(child, DESCRIPTORS.stdout), streamOf(child, DESCRIPTORS.stderr)]
  const isClean = () => {
    const isUnstarted = report.failure !== undefined || (hasEnded(child) && !report.hasStarted)
    return report.isClean || isUnstarted
  }
  return { status: 'running', output, end, isClean, terminate: () => terminate(child) }
}

function spawnReaper(request: ReaperRequest, marker: string): ChildProcess {
  // -I and -S: neither PYTHONPATH nor anything in the working directory or site-packages runs in the reaper.
  const reaperArguments = ['-I', '-S', REAPER, String(process.pid), ...request.command]
  return spawn(request.python, reaperArguments, {
    cwd: request.workingDirectory,
    env: { ...request.environment, [MARKER_VARIABLE]: marker },
    // A session of its own: an interrupt typed at a terminal reaches us alone, and we decide.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
}

async function listen(control: Readable, report: Report): Promise<void> {
  const splitter = new LineSplitter(({ bytes }) => {
    const [word, ...rest] = bytes.toString('utf8').split(' ')
    if (word === 'starting') report.hasStarted = true
    if (word === 'ended') report.endedAt = performance.now()
    if (word === 'clean') report.isClean = true
    if (word === 'failed') report.failure = rest.join(' ')
  })
  for await (const chunk of control) splitter.push(chunk)
}

function commandEnd(
  { command, python, logFile }: ReaperRequest,
  report: Report,
  code: number | null,
  signal: string | null,
  wallSeconds: number,
): CommandEnd {
  if (report.failure !== undefined) {
    return notStarted(`cannot start "${command[0]}": ${report.failure}; install it or name its full path`)
  }
  const ending = code === null ? `by ${signal}` : `with exit code ${code}`
  if (!report.hasStarted) {
    const needed = 'expected Python 3.10 or newer'
    const remedy = logFile === undefined ? needed : `${needed}; its output is in ${logFile}`
    return notStarted(`"${python}" ended ${ending} before it could start "${command[0]}"; ${remedy}`)
  }
  return code === null
    ? { status: 'signalled', signal: signal ?? 'an unknown signal', wallSeconds }
    : { status: 'exited', exitCode: code, wallSeconds }
}

export function notStarted(message: string): NotStarted {
  return { status: 'not-started', message }
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false
}

function streamOf(child: ChildProcess, descriptor: number): Readable {
  const stream = child.stdio[descriptor]
  if (stream instanceof Readable) return stream
  throw new Error(`descriptor ${descriptor} of the reaper is not a pipe`)
}

function terminate(child: ChildProcess): void {
  // The number of a process that has ended may belong to another one by now.
  if (child.pid === undefined || hasEnded(child)) return
  process.kill(-child.pid, 'SIGTERM')
  // A training may have stopped it.
  process.kill(-child.pid, 'SIGCONT')
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}
