// What NCCL logs in each launch: read, kept in the result, and judged over all launches.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Result } from '../../src/record/result.ts'
import { anExperiment, EXPERIMENT_FILE, TRAINERS } from '../fixtures/experiments/an-experiment.ts'
import { speedproof } from '../harness/command-line.ts'

type Keys = Readonly<Record<string, unknown>>

/** Two ranks, and two blocks, each with the logs that are named. */
async function ran(logs: string, launch: Keys = {}, env: Keys = {}) {
  const folder = await anExperiment({
    trainer: { script: join(TRAINERS, 'talks_by_nccl.py') },
    launch: { nproc_per_node: 2, env: { NCCL_LOGS: logs, ...env }, ...launch },
    design: { blocks: 2 },
  })
  const { exitCode } = await speedproof(folder, 'run', EXPERIMENT_FILE)
  const read = async () => JSON.parse(await readFile(join(folder, 'out', 'result.json'), 'utf8')) as Result
  const result = await read()
  const check = (one: Result) => one.machineChecks.find(({ name }) => name === 'interconnect')
  return { folder, exitCode, result, check: check(result), again: async () => check(await read()) }
}

it('a launch keeps the transports that NCCL logged, and no log', async () => {
  const { folder, exitCode, result, check, again } = await ran('nvlink nvlink', { interconnect: 'nvlink' })
  expect(result.launches.map(({ interconnect }) => interconnect)).toEqual(
    Array(4).fill({ within: ['nvlink'], between: [] }),
  )
  expect(check?.status).toBe('passed')
  expect([exitCode, result.verdict.verdict]).toEqual([0, 'passed'])
  expect(existsSync(join(folder, 'out', 'runs', '01-block-1-baseline', 'nccl'))).toBe(false)
  await speedproof(folder, 'analyze', 'out/result.json')
  expect(await again()).toEqual(check)
})

it('a transport that changes between launches is invalid, and so is another than the one that is named', async () => {
  const changed = await ran('nvlink sockets-in-a-node')
  expect([changed.exitCode, changed.result.verdict.verdict]).toEqual([4, 'invalid'])
  expect(changed.check).toMatchObject({ status: 'failed', detail: expect.stringContaining('sockets') })
  const other = await ran('sockets-in-a-node sockets-in-a-node', { interconnect: 'nvlink' })
  expect([other.exitCode, other.result.verdict.verdict]).toEqual([4, 'invalid'])
})

it('an experiment that has a log of its own is left alone', async () => {
  const { result, check } = await ran('nvlink sockets-in-a-node', {}, { NCCL_DEBUG: 'WARN' })
  expect(result.launches.map((launch) => 'interconnect' in launch)).toEqual(Array(4).fill(false))
  expect(check).toBeUndefined()
  expect(result.verdict.verdict).toBe('passed')
})
