// Runs one script of an action (main or post) with its command files, and collects what it left.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseKeyValueFile } from './file-commands.ts'
import { openStepLog, type StepLog } from './step-log.ts'

export interface StageResult extends StepLog {
  exitCode: number | null
  signal: NodeJS.Signals | null
  annotations: { level: string; title: string; message: string }[]
  outputs: Record<string, string>
  state: Record<string, string>
  summary: string
  /** What later steps would get by GITHUB_ENV and GITHUB_PATH. */
  environment: string
}

const OUTPUT_DRAIN_MS = 1000
const COMMAND_FILES = ['OUTPUT', 'STATE', 'ENV', 'PATH', 'STEP_SUMMARY'] as const

export interface Stage {
  child: ChildProcess
  pid: number
  ended: Promise<StageResult>
  waitForLog(text: string): Promise<void>
}

export async function startStage(
  script: string,
  environment: Record<string, string | undefined>,
  temp: string,
  workspace: string,
): Promise<Stage> {
  const folder = await mkdtemp(join(temp, 'commands-'))
  const files = Object.fromEntries(COMMAND_FILES.map((name) => [`GITHUB_${name}`, join(folder, name)]))
  await Promise.all(Object.values(files).map((path) => writeFile(path, '')))
  // The step's own environment wins, so that a test can take a file away.
  const env = { ...files, ...environment }
  const child = spawn(process.execPath, [script], { cwd: workspace, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const waiters = new Set<() => void>()
  const { log, reader } = openStepLog(() => {
    for (const check of waiters) check()
  })
  const streams = [child.stdout, child.stderr].map((stream) => {
    const lines = reader()
    stream.on('data', (chunk: Buffer) => lines.write(chunk))
    return { stream, lines }
  })
  const exit = new Promise<Pick<StageResult, 'exitCode' | 'signal'>>((settle, reject) => {
    child.once('error', reject)
    child.once('exit', (exitCode, signal) => settle({ exitCode, signal }))
  })
  const closed = new Promise<void>((settle) => child.once('close', () => settle()))

  async function collect(): Promise<StageResult> {
    const ending = await exit
    // An orphan may hold the pipe open for ever; the runner does not wait for it either.
    await Promise.race([closed, sleep(OUTPUT_DRAIN_MS, undefined, { ref: false })])
    for (const { stream, lines } of streams) {
      lines.end()
      stream.destroy()
    }
    return { ...log, ...ending, ...(await readFiles(files)), annotations: annotationsOf(log) }
  }

  const ended = collect()
  const waitForLog = (text: string) =>
    new Promise<void>((settle, reject) => {
      const check = () => {
        if (log.lines.some((line) => line.includes(text))) settle()
      }
      waiters.add(check)
      check()
      ended.then(
        () => reject(new Error(`The step ended without "${text}":\n${log.lines.join('\n')}`)),
        reject,
      )
    })
  return { child, pid: child.pid ?? 0, ended, waitForLog }
}

async function readFiles(files: Record<string, string>) {
  const read = async (name: string) => {
    const path = files[`GITHUB_${name}`] ?? ''
    return existsSync(path) ? await readFile(path, 'utf8') : ''
  }
  return {
    outputs: parseKeyValueFile(await read('OUTPUT')),
    state: parseKeyValueFile(await read('STATE')),
    summary: await read('STEP_SUMMARY'),
    environment: (await read('ENV')) + (await read('PATH')),
  }
}

function annotationsOf(log: StepLog): StageResult['annotations'] {
  return log.commands
    .filter(({ name }) => ['error', 'warning', 'notice'].includes(name))
    .map(({ name, properties, data }) => ({ level: name, title: properties.title ?? '', message: data }))
}
