// One call of `speedproof cloud` as a step of a workflow makes it: with the compiled command line and a step's environment.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { REPOSITORY, RUNNER_TOKEN } from './fake-runners.ts'

const ROOT = join(import.meta.dirname, '../../..')
const CLI = join(ROOT, 'lib/cli.js')

export interface Step {
  readonly folder: string
  readonly dstackUrl: string
  readonly dstackToken: string
  readonly project: string
  readonly githubUrl: string
  readonly runId: number
  readonly event: { readonly name: string; readonly payload: unknown }
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
  return startProgram(step, process.execPath, [CLI, 'cloud', ...words], {
    ...{ DSTACK_URL: step.dstackUrl, DSTACK_TOKEN: step.dstackToken, DSTACK_PROJECT: step.project },
    // As in cloud.yml: no other job has it.
    ...(words[0] === 'start' ? { SPEEDPROOF_RUNNER_TOKEN: RUNNER_TOKEN } : {}),
  })
}

/** By the script of the action; what the bundle is made of stands for the bundle. */
export async function cloudAction(step: Step, inputs: Readonly<Record<string, string>>): Promise<Ended> {
  const file = join(ROOT, '.github/actions/cloud/action.yml')
  const action = actionSchema.parse(parse(readFileSync(file, 'utf8')))
  const given: Record<string, string> = {
    ...Object.fromEntries(Object.entries(action.inputs).map(([name, input]) => [name, input.default ?? ''])),
    ...{ 'dstack-url': step.dstackUrl, 'dstack-token': step.dstackToken, 'dstack-project': step.project },
    ...inputs,
  }
  const [{ run, env }] = action.runs.steps
  const filled = Object.entries(env).map(([name, text]) => {
    const [, input = ''] = /^\$\{\{ inputs\.([\w-]+) \}\}$/.exec(text) ?? []
    return [name, given[input] ?? '']
  })
  const stub = mkdtempSync(join(step.folder, 'bin-'))
  const entry = join(ROOT, 'lib/cloud-action.js')
  writeFileSync(join(stub, 'node'), `#!/bin/sh\nshift\nexec '${process.execPath}' '${entry}' "$@"\n`, {
    mode: 0o755,
  })
  return await startProgram(step, 'bash', ['-euo', 'pipefail', '-c', run], {
    ...Object.fromEntries(filled),
    GITHUB_ACTION_PATH: dirname(file),
    PATH: `${stub}:${process.env.PATH}`,
  }).ended
}

const actionSchema = z.object({
  inputs: z.record(z.string(), z.object({ default: z.string().optional() })),
  runs: z.object({
    steps: z.tuple([z.object({ run: z.string(), env: z.record(z.string(), z.string()) })]),
  }),
})

/** With the environment of a step. */
function startProgram(
  step: Step,
  program: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
): Running {
  const place = mkdtempSync(join(step.folder, 'step-'))
  const outputFile = join(place, 'output')
  const eventFile = join(place, 'event.json')
  writeFileSync(outputFile, '')
  writeFileSync(eventFile, JSON.stringify(step.event.payload))
  const child = spawn(program, words, {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH,
      ...{ GITHUB_ACTIONS: 'true', GITHUB_REPOSITORY: REPOSITORY, GITHUB_API_URL: step.githubUrl },
      ...{
        GITHUB_RUN_ID: String(step.runId),
        GITHUB_RUN_ATTEMPT: '1',
        GITHUB_EVENT_NAME: step.event.name,
      },
      ...{ GITHUB_OUTPUT: outputFile, GITHUB_EVENT_PATH: eventFile },
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  const ended = endOf(child).then((exitCode) => ({
    exitCode,
    output,
    outputs: readFileSync(outputFile, 'utf8'),
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
