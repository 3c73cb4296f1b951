// A gate that waits for its metric applies once a baseline run reports it, and no variant gets rid of it then.
import { expect, test } from 'vitest'
import { assess } from '../../../src/assess.ts'
import { parseExperiment } from '../../../src/config/parse-experiment.ts'
import type { PlannedRun } from '../../../src/plan/plan.ts'
import { aRequest, launchedPlan, type MetricsDifference } from '../../fixtures/builders.ts'

const experiment = parseExperiment(
  `
name: defaults
kind: same-work
trainer: { module: trainer }
launch: { nproc_per_node: 2 }
design: { blocks: 4 }
variants: { baseline: { config: a.yaml }, optimized: { config: b.yaml } }
`,
  'defaults.yaml',
)

const nrmse = (value: number): MetricsDifference => ({ evaluation: { metrics: { nrmse: value } } })

async function judged(metricsOf: (run: PlannedRun) => MetricsDifference) {
  const { verdict } = assess(aRequest({ experiment }), await launchedPlan(experiment, metricsOf))
  const gate = verdict.gates.find((one) => one.gate.name === 'nrmse_ratio')
  return { verdict: verdict.verdict, reason: verdict.reason, gate: gate?.status }
}

test('a trainer without an NRMSE passes the default gates', async () => {
  expect(await judged(() => ({}))).toMatchObject({ verdict: 'passed', gate: undefined })
})

test('one with an NRMSE has to keep it', async () => {
  const kept = await judged(({ variant, seed }) =>
    nrmse((variant === 'baseline' ? 0.1 : 0.1001) + seed / 1e4),
  )
  expect(kept).toMatchObject({ verdict: 'passed', gate: 'passed' })
  const lost = await judged(({ variant, seed }) => nrmse((variant === 'baseline' ? 0.1 : 0.11) + seed / 1e4))
  expect(lost).toMatchObject({ verdict: 'failed', gate: 'failed' })
})

test('an optimized variant that does not report it leaves the gate open', async () => {
  const silent = await judged(({ variant }) => (variant === 'baseline' ? nrmse(0.1) : {}))
  expect(silent).toMatchObject({ verdict: 'inconclusive', gate: 'not-measured' })
})

test('one baseline run that reports it is enough', async () => {
  const once = await judged(({ variant, block }) => (variant === 'baseline' && block === 2 ? nrmse(0.1) : {}))
  expect(once).toMatchObject({ verdict: 'inconclusive', gate: 'not-measured' })
})

test('an optimized run alone asks for nothing', async () => {
  const own = await judged(({ variant }) => (variant === 'optimized' ? nrmse(0.1) : {}))
  expect(own).toMatchObject({ verdict: 'passed', gate: undefined })
})

test('a worse loss does not pass without an NRMSE', async () => {
  expect(await judged(({ variant }) => ({ valLoss: variant === 'baseline' ? 0.002 : 0.0022 }))).toMatchObject(
    {
      verdict: 'failed',
      reason: expect.stringContaining('loss_ratio'),
    },
  )
})
