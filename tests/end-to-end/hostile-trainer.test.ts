// A trainer's output and metrics are untrusted: they reach no command of the runner, and no secret reaches them.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { anExperiment, TRAINERS } from '../fixtures/experiments/an-experiment.ts'
import { measure, type Services, startServices } from '../harness/speedproof.ts'
import type { StageResult } from '../harness/stage.ts'

let folder: string
let services: Services
let main: StageResult

beforeAll(async () => {
  folder = await anExperiment({ trainer: { script: join(TRAINERS, 'hostile.py') } })
  services = await startServices()
  const secrets = { MY_API_KEY: 'a-secret', GITHUB_TOKEN: 'job-token', CUDA_TOKEN: 'a-secret' }
  // The artifact client would write commands of its own.
  const inputs = { 'artifact-name': 'none' }
  main = (await measure(folder, services, { environment: secrets, inputs })).main
})

afterAll(() => services[Symbol.asyncDispose]())

it('the verdict stays what was measured', () => {
  expect(main).toMatchObject({ exitCode: 1, outputs: { verdict: 'invalid' } })
  expect(main.outputs.reason).toContain('::add-mask::Speedproof')
  // A later step may print it.
  expect(main.outputs.reason).not.toMatch(/[\r\n\u2028]|##\[/)
})

it('the only command in the log is the verdict of Speedproof itself', () => {
  expect(main.lines.join('\n')).toContain('::add-mask::Speedproof')
  expect(main.commands).toMatchObject([
    { name: 'error', properties: { title: 'Speedproof: faulty invalid' } },
  ])
  expect(main.masks).toEqual([])
})

it('a huge line is cut in the log and whole in the file', async () => {
  expect(Math.max(...main.lines.map((line) => line.length))).toBeLessThan(6000)
  const log = await readFile(join(folder, 'out', 'runs', '01-block-1-baseline', 'log.txt'), 'utf8')
  expect(log).toContain('x'.repeat(1_000_000))
})

it('the trainer sees no token, no input and nothing that steers the job', async () => {
  const log = await readFile(join(folder, 'out', 'runs', '01-block-1-baseline', 'log.txt'), 'utf8')
  const names = [...log.matchAll(/^([A-Za-z_][\w-]*)=/gm)].map(([, name]) => name)
  expect(names).toContain('RUNNER_TRACKING_ID')
  expect(names).not.toContain('RUNNER_TEMP')
  expect(names).not.toContainEqual(expect.stringMatching(/^(INPUT_|ACTIONS_|STATE_|GITHUB_)|TOKEN|KEY/))
  expect(log).not.toContain('job-token')
  expect(log).not.toContain('a-secret')
  expect(log).not.toContain(services.artifacts.environment.ACTIONS_RUNTIME_TOKEN)
})

it('what it names itself is text in the comment and the summary, not HTML, a mention or a reference', () => {
  const body = services.github.comments[0]?.body ?? ''
  for (const markdown of [body, main.summary]) {
    expect(markdown).toContain('alert(1)')
    expect(markdown).not.toMatch(/<script|@octocat|\s#1\b/)
  }
})
