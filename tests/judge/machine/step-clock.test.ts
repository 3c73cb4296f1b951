// Step seconds that do not fit between their reports, or leave much of the time there, are a warning.
import { expect, test } from 'vitest'
import { checkStepClock } from '../../../src/judge/machine/step-clock.ts'
import { aFinishedRun, type MetricsDifference } from '../../fixtures/builders.ts'
import { aMachineRecord } from '../../fixtures/machine/records.ts'

/** 40 steps of `stepSeconds`, of which the last 30 were reported within 5 s. */
async function checkOf(
  stepSeconds: number,
  steps = aMachineRecord().steps,
  run: Parameters<typeof aFinishedRun>[0] = {},
  metrics: MetricsDifference = {},
) {
  const finished = await aFinishedRun(run, {
    ...metrics,
    stepSeconds: Array.from({ length: 40 }, () => stepSeconds),
  })
  const records = new Map([[finished.run.id, [aMachineRecord({ steps })]]])
  return checkStepClock([finished], () => 10, { preflight: null, records })
}

/** The last 30 steps were reported within 10 s. */
const LONG = [
  { event: 'steps' as const, seconds: 4, last_step: 10 },
  { event: 'steps' as const, seconds: 14, last_step: 40 },
]

test('over 1% more than passed between two looks is a warning', async () => {
  // 5 s between the reports, which may have been seen half a second apart, the first of them two steps late.
  const stepOf = (excess: number) => (excess * 5.5) / (30 - excess * 2)
  expect(await checkOf(stepOf(1))).toEqual([])
  expect(await checkOf(stepOf(1.009))).toEqual([])
  expect(await checkOf(stepOf(1.011))).toHaveLength(1)
  expect(await checkOf(stepOf(1.03))).toEqual([
    {
      name: 'step clock',
      status: 'warned',
      detail: expect.stringMatching(
        /more step seconds .* 03-block-1-baseline \(3\.0%\).* report the steps of one rank$/,
      ),
    },
  ])
})

test('over 5% that nothing reported has is a warning', async () => {
  expect(await checkOf((0.951 * 10 - 0.5) / 30, LONG)).toEqual([])
  expect(await checkOf((0.949 * 10 - 0.5) / 30, LONG)).toHaveLength(1)
  expect(await checkOf((0.92 * 10 - 0.5) / 30, LONG)).toEqual([
    {
      name: 'step clock',
      status: 'warned',
      detail: expect.stringMatching(
        /^time between the reports .* 03-block-1-baseline \(8\.0%\).* step and seconds/,
      ),
    },
  ])
})

test('in less than 10 s nothing is missed', async () => {
  expect(await checkOf(0.01)).toEqual([])
  expect(await checkOf(0.01, LONG)).toHaveLength(1)
})

test('evaluations and phases between the reports count beside the steps', async () => {
  const besides = (metrics: MetricsDifference) => checkOf(7.4 / 30, LONG, {}, metrics)
  const checkpointAt = (step?: number): MetricsDifference => ({
    phases: [{ event: 'phase', name: 'checkpoint', seconds: 2, ...(step === undefined ? {} : { step }) }],
  })
  expect(await besides({})).toHaveLength(1)
  expect(await besides(checkpointAt(10))).toEqual([])
  expect(await besides(checkpointAt(39))).toEqual([])
  expect(await besides({ evaluation: { step: 20, samples_seen: 320, seconds: 2 } })).toEqual([])
  // Before the first report that is looked at, or behind the last.
  expect(await besides(checkpointAt())).toHaveLength(1)
  expect(await besides(checkpointAt(9))).toHaveLength(1)
  expect(await besides(checkpointAt(40))).toHaveLength(1)
})

test('steps that compile while they are reported do not count', async () => {
  const steps = [1, 10, 40].map((last_step) => ({
    event: 'steps' as const,
    seconds: last_step / 4,
    last_step,
  }))
  expect(await checkOf(0.2, steps)).toEqual([])
  expect(await checkOf(0.3, steps)).toHaveLength(1)
})

test('one report, or none, shows nothing', async () => {
  const atTheEnd = [{ event: 'steps' as const, seconds: 9, last_step: 40 }]
  expect(await checkOf(100, atTheEnd)).toEqual([])
  expect(await checkOf(100, [])).toEqual([])
})

test('a warm-up launch is not judged', async () => {
  expect(await checkOf(100, undefined, { purpose: 'warm-up', block: null })).toEqual([])
})

test('a run that was not watched is not judged', async () => {
  expect(checkStepClock([await aFinishedRun()], () => 10, { preflight: null, records: new Map() })).toEqual(
    [],
  )
})
