// One call of `speedproof cloud` as a step of a workflow makes it: with the compiled command line and a step's environment.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { REPOSITORY, RUNNER_TOKEN } from './fake-runners.ts'

export interface Step {
  readonly folder: string
  readonly dstackUrl: string
  readonly dstackToken: string
  readonly project: string
  readonly githubUrl: string
  readonly runId: number
}

export interface Ended {
  readonly exitCode: number | null
  readonly output: string
  /** What the step has written for later jobs. */
  readonly outputs: string
}

export interface Running {
  readonly ended: Promise<Ended>
  /** Rejects when the command ends without it. */
  waitFor(text: string): Promise<void>
  kill(signal: NodeJS.Signals): void
}

export async function cloud(step: Step, ...words: string[]): Promise<Ended> {
  return await startCloud(step, ...words).ended
}

export function startCloud(step: Step, ...words: string[]): Running {
  const place = mkdtempSync(join(step.folder, 'step-'))
  const outputFile = join(place, 'output')
  const eventFile = join(place, 'event.json')
  for (const [file, text] of [
    [outputFile, ''],
    [eventFile, '{}'],
  ] as const)
    writeFileSync(file, text)
  const isStart = words[0] === 'start'
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, '../../../lib/cli.js'), 'cloud', ...words],
    {
      env: {
        PATH: process.env.PATH,
        ...{ GITHUB_ACTIONS: 'true', GITHUB_REPOSITORY: REPOSITORY, GITHUB_API_URL: step.githubUrl },
        ...{
          GITHUB_RUN_ID: String(step.runId),
          GITHUB_RUN_ATTEMPT: '1',
          GITHUB_EVENT_NAME: 'workflow_dispatch',
        },
        ...{ GITHUB_OUTPUT: outputFile, GITHUB_EVENT_PATH: eventFile },
        ...{ DSTACK_URL: step.dstackUrl, DSTACK_TOKEN: step.dstackToken, DSTACK_PROJECT: step.project },
        // As in cloud.yml: no other job has it.
        ...(isStart ? { RUNNER_TOKEN } : {}),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  const ended = endOf(child).then((exitCode) => ({
    exitCode,
    output,
    outputs: existsSync(outputFile) ? readFileSync(outputFile, 'utf8') : '',
  }))
  return {
    ended,
    async waitFor(text) {
      let isOver = false
      void ended.then(() => {
        isOver = true
      })
      while (!output.includes(text)) {
        if (isOver) throw new Error(`ended without "${text}":\n${output}`)
        await new Promise((settle) => setTimeout(settle, 100))
      }
    },
    kill: (signal) => child.kill(signal),
  }
}

async function endOf(child: ChildProcess): Promise<number | null> {
  const [exitCode] = await once(child, 'close')
  return exitCode
}
