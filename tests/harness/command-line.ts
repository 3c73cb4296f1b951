// Starts the compiled command line as a terminal does, in a process group of its own that Ctrl-C reaches.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

export const REPOSITORY = join(import.meta.dirname, '..', '..')
/** Compiled by `tsc -p tsconfig.build.json`, which npm test does first. */
export const CLI = join(REPOSITORY, 'lib', 'cli.js')

export interface Ended {
  exitCode: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface RunningCommand {
  ended: Promise<Ended>
  /** Resolves when the output has the text; rejects when the command ends without it. */
  waitForOutput(text: string): Promise<void>
  /** Called with all that the output has so far, whenever there is more. */
  onOutput(listener: (text: string) => void): void
  readonly pid: number
  /** As a terminal sends it: to every process of the group. */
  pressCtrlC(): void
  /** As a lost connection does: nobody reads the output any more, and the group gets a SIGHUP. */
  hangUp(): void
  /** As `| head -1` does. */
  stopReading(): void
  kill(): void
}

export async function speedproof(folder: string, ...words: string[]): Promise<Ended> {
  return await startSpeedproof(folder, ...words).ended
}

export function startSpeedproof(folder: string, ...words: string[]): RunningCommand {
  // Tests side by side must not wait for each other, nor find floors; the repository itself gets no such files.
  const ownFolder = folder.startsWith(REPOSITORY) ? tmpdir() : folder
  const child = spawn(process.execPath, [CLI, ...words], {
    cwd: folder,
    env: {
      ...process.env,
      SPEEDPROOF_LOCK_FOLDER: ownFolder,
      XDG_STATE_HOME: ownFolder,
      // That of a test, and not of the workflow run that tests.
      GITHUB_RUN_ATTEMPT: process.env.ATTEMPT_OF_TEST,
    },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = endOf(child)
  const signal = (name: NodeJS.Signals) => process.kill(-(child.pid ?? Number.NaN), name)
  const stopReading = () => {
    for (const stream of [child.stdout, child.stderr]) stream.destroy()
  }
  return {
    ended,
    async waitForOutput(wanted) {
      let seen = ''
      const { promise, resolve } = Promise.withResolvers<void>()
      child.stdout.on('data', (chunk: Buffer) => {
        seen += chunk.toString()
        if (seen.includes(wanted)) resolve()
      })
      const tooLate = ended.then(({ stdout, stderr }) => {
        throw new Error(`ended without "${wanted}":\n${stdout}\n${stderr}`)
      })
      await Promise.race([promise, tooLate])
    },
    onOutput(listener) {
      let seen = ''
      child.stdout.on('data', (chunk: Buffer) => {
        seen += chunk.toString()
        listener(seen)
      })
    },
    pid: child.pid ?? Number.NaN,
    pressCtrlC: () => signal('SIGINT'),
    hangUp: () => {
      stopReading()
      signal('SIGHUP')
    },
    stopReading,
    kill: () => child.kill('SIGKILL'),
  }
}

async function endOf(child: ChildProcess): Promise<Ended> {
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) =>
    stream ? text(stream).catch(() => '') : '',
  )
  const [exitCode, signal] = await once(child, 'close')
  return { exitCode, signal, stdout: (await stdout) ?? '', stderr: (await stderr) ?? '' }
}
