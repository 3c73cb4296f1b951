// A trainer that writes no event of the contract is measured by what it prints or writes anyway.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { anExperiment, EXPERIMENT_FILE, TRAINERS } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { speedproof } from '../harness/command-line.ts'

const NUMBERING = {
  units: { step_seconds: 'ms' },
  first_step: 0,
  evaluation_first_step: 1,
  samples_per_step: 8,
}
const LOG = {
  format: 'log',
  patterns: {
    step: 'iter (?<step>\\d+): loss (?<train_loss>\\S+), time (?<step_seconds>[\\d.]+)ms',
    evaluation: 'step (?<step>\\d+): train loss \\S+, val loss (?<val_loss>\\S+)',
  },
  ...NUMBERING,
}
const JSONL = {
  format: 'jsonl',
  file: 'logs/*.jsonl',
  keys: { step: 'iter', step_seconds: 'dt', train_loss: 'loss', val_loss: 'val/loss' },
  ...NUMBERING,
}
const runFacts = z.object({
  runs: z.array(
    z.object({
      metrics: z.object({ seconds_per_sample: z.number() }),
      facts: z.record(z.string(), z.string()),
    }),
  ),
})
const runsIn = async (folder: string) =>
  runFacts.parse(JSON.parse(await readFile(join(folder, 'out', 'result.json'), 'utf8'))).runs

const measured = async (metrics: Readonly<Record<string, unknown>>, steps = 40) => {
  const folder = await anExperiment({
    trainer: { script: join(TRAINERS, 'plain.py') },
    metrics,
    baseline: { steps },
    optimized: { steps },
  })
  return { folder, ...(await speedproof(folder, 'run', EXPERIMENT_FILE)) }
}

it.each([
  ['what it prints', LOG],
  ['its own file', JSONL],
])(
  'by %s: the speedup is that of the steps without an evaluation, also when it is judged again',
  async (_, metrics) => {
    const { folder } = await measured(metrics)
    const { outcomes } = await readResult(folder)
    const runs = await runsIn(folder)
    expect(outcomes.map(({ status, message }) => [status, message])).toEqual([
      ['finished', null],
      ['finished', null],
    ])
    expect(runs[0]?.facts).toMatchObject({ step_seconds: 'read', samples: 'declared', seed: 'unknown' })
    const [baseline, optimized] = runs.map(({ metrics }) => metrics.seconds_per_sample)
    expect(baseline).toBeCloseTo(0.004 / 8, 9)
    expect(optimized).toBeCloseTo(0.001 / 8, 9)
    const before = await readFile(join(folder, 'out', 'report.md'), 'utf8')
    const again = await speedproof(folder, 'report', 'out/result.json')
    expect(again.stdout.trim()).toBe(before.trim())
  },
)

it('a pattern without a match fails the launch with that pattern', async () => {
  const patterns = { ...LOG.patterns, step: 'iteration (?<step>\\d+) took (?<step_seconds>\\S+)' }
  const { folder } = await measured({ ...LOG, patterns })
  const { outcomes } = await readResult(folder)
  expect(outcomes[0]).toMatchObject({
    reason: 'bad-metrics',
    message: expect.stringContaining('iteration (?<step>'),
  })
})

it('a file that is not there fails the launch with its name', async () => {
  const { folder } = await measured({ ...JSONL, file: 'logs/metrics.jsonl' })
  const { outcomes } = await readResult(folder)
  expect(outcomes[0]).toMatchObject({
    reason: 'no-metrics',
    message: expect.stringContaining('trainer/logs/metrics.jsonl is missing'),
  })
})

it('without step seconds a speedup is not measured, and nothing else is held against the runs', async () => {
  const { folder } = await measured({ format: 'hugging-face', samples_per_step: 8 })
  const { verdict, outcomes } = await readResult(folder)
  expect(outcomes.map(({ status }) => status)).toEqual(['finished', 'finished'])
  expect(verdict.checks.filter(({ status }) => status === 'failed')).toEqual([])
  expect(verdict.verdict).toBe('inconclusive')
  expect(verdict.gates).toMatchObject([{ gate: { name: 'speedup' }, status: 'not-measured' }, {}])
})
