// A cancelled or killed action leaves no process, tells what was measured, and never says passed.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { anExperiment, TRAINERS } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { processesIn } from '../harness/processes.ts'
import { startMeasuring, startServices } from '../harness/speedproof.ts'

const STUBBORN = { fault: 'ignore-sigterm', fault_step: 15 }

describe('a cancel', () => {
  it('while workers that ignore SIGTERM train ends them before the runner repeats its signal', async () => {
    const folder = await anExperiment({ optimized: STUBBORN, launch: { nproc_per_node: 2 } })
    await using services = await startServices()
    await using action = await startMeasuring(folder, services)
    await action.waitForLog('ignores SIGTERM')
    const { main, post, lastSignal } = await action.cancel()
    expect(lastSignal).toBe('SIGINT')
    expect(post).toMatchObject({ exitCode: 0, lines: [] })
    expect(processesIn(folder)).toEqual([])
    expect(main).toMatchObject({ exitCode: 1, outputs: { verdict: 'inconclusive' } })
    const { outcomes } = await readResult(folder)
    expect(outcomes.map(({ status }) => status)).toEqual(['finished', 'cancelled'])
    expect(services.artifacts.uploaded['speedproof-faulty-measure-attempt-1']).toHaveProperty('result.json')
    expect(services.github.comments[0]?.body).toContain('stopped early')
  })

  it('while torchrun starts leaves no process and a result', async () => {
    const folder = await anExperiment()
    await using services = await startServices()
    await using action = await startMeasuring(folder, services)
    await action.waitForLog('starting')
    const { main, post, lastSignal } = await action.cancel()
    expect(lastSignal).toBe('SIGINT')
    expect(post?.lines).toEqual([])
    expect(processesIn(folder)).toEqual([])
    expect(main).toMatchObject({ exitCode: 1, outputs: { verdict: 'inconclusive', speedup: '' } })
    expect((await readResult(folder)).outcomes).toMatchObject([
      { status: 'cancelled' },
      { status: 'not-run' },
    ])
  })

  it('during set-up ends what set-up has started and launches nothing', async () => {
    const trainer = { script: join(TRAINERS, 'slow_validation.py'), validate_command: 'validate-config' }
    const folder = await anExperiment({ trainer })
    await using services = await startServices()
    await using action = await startMeasuring(folder, services)
    await vi.waitUntil(() => existsSync(join(folder, 'validating')), 30_000)
    const { main, lastSignal } = await action.cancel()
    expect(lastSignal).toBe('SIGINT')
    expect(processesIn(folder)).toEqual([])
    expect(main).toMatchObject({ exitCode: 1 })
    expect(main.annotations).toMatchObject([
      { level: 'error', message: expect.stringContaining('cancelled') },
    ])
    expect(existsSync(join(folder, 'out'))).toBe(false)
  })
})

it('post ends what a killed action has left on the machine', async () => {
  const folder = await anExperiment({ baseline: STUBBORN })
  await using services = await startServices()
  await using action = await startMeasuring(folder, services)
  await action.waitForLog('ignores SIGTERM')
  process.kill(action.pid, 'SIGKILL')
  const { main, post } = await action.finished
  expect(main).toMatchObject({ signal: 'SIGKILL', outputs: {} })
  expect(post).toMatchObject({ exitCode: 0, lines: [expect.stringMatching(/ended \d+ processes/)] })
  expect(processesIn(folder)).toEqual([])
})
