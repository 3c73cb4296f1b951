// What a rented machine runs: it becomes a runner for one job, and ends itself where none comes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type RunnerProgram, runSpec } from '../../src/cloud/request.ts'
import { FakeRunners, REPOSITORY, RUNNER_TOKEN } from './harness/fake-runners.ts'

const folder = mkdtempSync(join(tmpdir(), 'speedproof-task-'))
let runners: FakeRunners

beforeAll(async () => {
  runners = await FakeRunners.start(folder)
})
afterAll(async () => {
  await runners[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const task = z.object({
  commands: z.tuple([z.string()]),
  env: z.record(z.string(), z.string()),
})

async function register(name: string): Promise<void> {
  await fetch(`${runners.url}/repos/${REPOSITORY}/actions/runners/generate-jitconfig`, {
    method: 'POST',
    headers: { authorization: `token ${RUNNER_TOKEN}` },
    body: JSON.stringify({ name, labels: [name] }),
  })
}

async function runTask(
  name: string,
  change: Partial<RunnerProgram>,
  environment: Record<string, string> = {},
) {
  const program = { url: `${runners.url}/program.tar.gz`, sha256: runners.sha256, jitConfig: name, ...change }
  const wish = { gpu: 'H100', maxPricePerHour: 3, maxMinutes: 60, backends: [], regions: [], image: null }
  const rest = { diskGb: 100, fleet: 'speedproof', communityCloud: false }
  const { commands, env } = task.parse(runSpec(name, { ...wish, ...rest }, program).configuration)
  const home = mkdtempSync(join(folder, 'home-'))
  const child = spawn('sh', ['-c', commands[0]], {
    env: { PATH: process.env.PATH, HOME: home, ...env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  const [exitCode] = await once(child, 'exit')
  // The machine is gone, and whatever ran on it.
  if (child.pid !== undefined) killGroup(child.pid)
  return { exitCode, output: (await output).join('') }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Nothing is left.
  }
}

describe('a rented machine', () => {
  it('ends with its job', async () => {
    await register('speedproof-1-1')
    const runner = runners.named('speedproof-1-1')
    const ended = runTask('speedproof-1-1', {})
    await expect.poll(() => runner.status).toBe('online')
    runner.job = 'sent'
    runner.job = 'ended'
    expect(await ended).toMatchObject({ exitCode: 0 })
  })

  it('ends itself where no job comes', async () => {
    await register('speedproof-2-1')
    const { exitCode, output } = await runTask('speedproof-2-1', {}, { SPEEDPROOF_NO_JOB_SECONDS: '2' })
    expect({ exitCode, output }).toMatchObject({ exitCode: 1 })
    expect(output).toContain('no job came')
  })

  it('runs no program but the one that GitHub has named', async () => {
    await register('speedproof-3-1')
    const { exitCode } = await runTask('speedproof-3-1', { sha256: '0'.repeat(64) })
    expect(exitCode).not.toBe(0)
    expect(runners.named('speedproof-3-1').status).toBe('offline')
  })

  it('is a runner for no more than 15 minutes without a job, and never by the use of its GPU', () => {
    const { configuration } = runSpec(
      'speedproof-4-1',
      {
        ...{ gpu: 'H100', maxPricePerHour: 3, maxMinutes: 60, backends: [], regions: [], image: null },
        ...{ diskGb: 100, fleet: 'speedproof', communityCloud: false },
      },
      { url: 'https://github.com', sha256: '0', jitConfig: '0' },
    )
    expect(configuration).toMatchObject({
      ...{ max_price: 3, max_duration: 3600, idle_duration: 0, retry: false, spot_policy: 'on-demand' },
      env: { SPEEDPROOF_NO_JOB_SECONDS: '900' },
    })
    expect(configuration).not.toHaveProperty('utilization_policy')
  })
})
