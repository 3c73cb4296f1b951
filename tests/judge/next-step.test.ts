// Each decision of the run loop, from the facts so far.
import { describe, expect, test } from 'vitest'
import { assess } from '../../src/assess.ts'
import { type Judged, nextStep, type RunState, type Step } from '../../src/judge/next-step.ts'
import { pairedRatio } from '../../src/judge/paired.ts'
import type { MachineRecord } from '../../src/measure/machine-record.ts'
import type { Launched } from '../../src/measure/outcome.ts'
import { planRuns, repeatOf } from '../../src/plan/plan.ts'
import { anExperiment, aRequest, launchedPlan } from '../fixtures/builders.ts'
import { aMachineRecord, aPreflight, aProcess } from '../fixtures/machine/records.ts'

/** Looks after blocks 1 and 3. */
const experiment = anExperiment({ design: { blocks: [1, 3], warm_up_launches: 1, seed: 0 } })
const plan = planRuns(experiment)
const ALL = await launchedPlan(experiment)
const [WARM_UPS, UP_TO_BLOCK_1, UP_TO_BLOCK_2] = [ALL.slice(0, 2), ALL.slice(0, 4), ALL.slice(0, 6)]
const [FIRST, SECOND] = ['03-block-1-baseline', '04-block-1-optimized']

const shared = aMachineRecord({ processes: [aProcess(), aProcess({ pid: 77, is_ours: false })] })
const seen = (disturbed: Readonly<Record<string, MachineRecord>> = {}) => ({
  preflight: aPreflight(),
  records: new Map(
    ALL.map(({ outcome: { run } }) => [run.id, [disturbed[run.id] ?? aMachineRecord()]] as const),
  ),
})
const disturbed = seen({ [FIRST]: shared })
const lock = { status: 'lost', waitedSeconds: 0, waitedFor: null, reason: 'taken away' } as const
const unfit = { ...seen(), preflight: aPreflight({ lock }) }
const unfitAndDisturbed = { ...disturbed, preflight: unfit.preflight }

/** May go on: nothing is wrong, and a required gate is open. */
const open: Judged = judgedWith('inconclusive')
const decided: Judged = judgedWith('passed')
const lost: Judged = {
  ...decided,
  verdict: { ...decided.verdict, checks: [{ name: 'equal work', status: 'failed', detail: '' }] },
}

/** At the limit: the look that is left will hardly decide. */
const futile: Judged = {
  ...open,
  verdict: {
    ...open.verdict,
    mayPass: true,
    gates: open.verdict.gates.slice(0, 1).map((gate) => ({
      ...{ ...gate, status: 'inconclusive' as const, staysOpen: false },
      evidence: pairedRatio([2.9, 3.1, 2.91, 3.09].map((numerator) => ({ numerator, denominator: 1 }))),
    })),
  },
}
const early: Judged = { ...futile, verdict: { ...futile.verdict, mayPass: false } }

function judgedWith(state: 'inconclusive' | 'passed'): Judged {
  const result = assess(aRequest({ experiment }), UP_TO_BLOCK_2)
  const gates = result.verdict.gates.map((gate) => ({ ...gate, state, evidence: null }))
  return { ...result, machineChecks: [], verdict: { ...result.verdict, verdict: state, gates, checks: [] } }
}

const stepAfter = (done: readonly Launched[], difference: Partial<RunState> = {}) =>
  nextStep({
    ...{ experiment, plan, done, kept: [], watched: seen(), isCancelled: false, evaluatedAfter: null },
    judgedAs: () => open,
    ...difference,
  })
const told = (step: Step) =>
  'run' in step ? `${step.status} ${step.run.id}` : `${step.status}: ${step.reason}`

const repeated = ({ launch, outcome }: Launched): Launched => {
  const run = repeatOf(outcome.run)
  return { launch: launch && { ...launch, runId: run.id }, outcome: { ...outcome, run } }
}
const REPEATS = ALL.slice(2, 4).map(repeated)
const failed = (launched: Launched): Launched => ({
  ...launched,
  outcome: {
    ...{ status: 'failed', run: launched.outcome.run, wallSeconds: 9 },
    ...{ reason: 'exit-code', message: 'exit code 1', metrics: null },
  },
})
const WITH_FAILED_WARM_UP = ALL.slice(0, 1).map(failed)

const facts: readonly (readonly [string, readonly Launched[], Partial<RunState>, string])[] = [
  ['starts with the first of the plan', [], {}, 'launch 01-warm-up-baseline'],
  ['launches one after the other', ALL.slice(0, 3), {}, `launch ${SECOND}`],
  ['goes on with the next block', UP_TO_BLOCK_2, {}, 'launch 07-block-3-baseline'],
  ['stops when all is launched', ALL, {}, 'stop: stopped'],

  [
    'repeats a disturbed block before the next',
    UP_TO_BLOCK_1,
    { watched: disturbed },
    `repeat ${FIRST}-repeat`,
  ],
  [
    'repeats the whole of it',
    [...UP_TO_BLOCK_1, ...REPEATS.slice(0, 1)],
    { watched: disturbed },
    `repeat ${SECOND}-repeat`,
  ],
  [
    'goes on after the repeats',
    [...UP_TO_BLOCK_1, ...REPEATS],
    { watched: disturbed },
    'launch 05-block-2-optimized',
  ],
  [
    'ends a disturbed block before it repeats it',
    ALL.slice(0, 3),
    { watched: disturbed },
    `launch ${SECOND}`,
  ],
  [
    'repeats a disturbed block before it asks whether more can pass',
    UP_TO_BLOCK_1,
    { watched: disturbed, judgedAs: () => lost },
    `repeat ${FIRST}-repeat`,
  ],

  ['launches nothing once it is cancelled', UP_TO_BLOCK_1, { isCancelled: true }, 'stop: stopped'],
  ['launches nothing on a machine that is not fit', UP_TO_BLOCK_1, { watched: unfit }, 'stop: unfit'],
  ['launches nothing after a failed warm-up launch', WITH_FAILED_WARM_UP, {}, 'stop: failed'],
  [
    'repeats nothing once it is cancelled',
    UP_TO_BLOCK_1,
    { watched: disturbed, isCancelled: true },
    'stop: stopped',
  ],
  [
    'repeats nothing on a machine that is not fit',
    UP_TO_BLOCK_1,
    { watched: unfitAndDisturbed },
    'stop: unfit',
  ],
  [
    'names the cancel before what else is wrong',
    WITH_FAILED_WARM_UP,
    { isCancelled: true, watched: unfit },
    'stop: stopped',
  ],
  [
    'names the failed warm-up launch before the machine',
    WITH_FAILED_WARM_UP,
    { watched: unfit },
    'stop: failed',
  ],

  ['stops before a block that cannot help', UP_TO_BLOCK_2, { judgedAs: () => lost }, 'stop: incomparable'],
  ['stops before the first block too', WARM_UPS, { judgedAs: () => lost }, 'stop: incomparable'],
  ['asks after one warm-up launch of each', WARM_UPS, twoWarmUps(lost), 'stop: incomparable'],
  ['but not before', WARM_UPS.slice(0, 1), twoWarmUps(lost), 'launch 02-warm-up-optimized'],
  ['warms up again where nothing is wrong', WARM_UPS, twoWarmUps(open), 'launch 03-warm-up-baseline'],
  ['ends a block that has begun', ALL.slice(0, 5), { judgedAs: () => lost }, 'launch 06-block-2-baseline'],

  ['stops as decided at a look', UP_TO_BLOCK_1, { judgedAs: () => decided }, 'stop: decided'],
  ['decides at looks alone', UP_TO_BLOCK_2, { judgedAs: () => decided }, 'launch 07-block-3-baseline'],
  [
    'stops at a look where the blocks left will hardly decide',
    UP_TO_BLOCK_1,
    { judgedAs: () => futile },
    'stop: futile',
  ],
  [
    'but not after one that can only fail',
    UP_TO_BLOCK_1,
    { judgedAs: () => early },
    'launch 05-block-2-optimized',
  ],
  ['goes on at a look with an open gate', UP_TO_BLOCK_1, {}, 'launch 05-block-2-optimized'],
  [
    'judges at a look as if the rest were not needed',
    UP_TO_BLOCK_1,
    { judgedAs: (reason) => (reason === 'decided' ? decided : open) },
    'stop: decided',
  ],
  [
    'stops at a look for what cannot be compared, whatever is decided',
    UP_TO_BLOCK_1,
    { judgedAs: (reason) => (reason === 'decided' ? decided : lost) },
    'stop: incomparable',
  ],
  // Four launches of a minute on two processes are done, and four more are wanted.
  ['stops at a look when the budget is spent', UP_TO_BLOCK_1, withBudget(15.9), 'stop: budget'],
  ['goes on within the budget', UP_TO_BLOCK_1, withBudget(16), 'launch 05-block-2-optimized'],
  ['asks for the budget at looks alone', UP_TO_BLOCK_2, withBudget(1), 'launch 07-block-3-baseline'],
]

function twoWarmUps(judged: Judged): Partial<RunState> {
  const twice = { ...experiment, design: { ...experiment.design, warm_up_launches: 2 } }
  return { experiment: twice, plan: planRuns(twice), judgedAs: () => judged }
}

function withBudget(gpuMinutes: number): Partial<RunState> {
  return { experiment: { ...experiment, design: { ...experiment.design, gpu_minutes: gpuMinutes } } }
}

test.each(facts)('%s', (_, done, difference, expected) => {
  expect(told(stepAfter(done, difference))).toBe(expected)
})

describe('launches that are kept from before --resume', () => {
  test.each<[string, Partial<RunState>]>([
    ['once it is cancelled', { isCancelled: true }],
    ['on a machine that is not fit', { watched: unfit }],
    ['where no further one can help', { judgedAs: () => lost }],
    ['after a look that decides', { judgedAs: () => decided }],
    ['beyond the budget', withBudget(1)],
  ])('stay, also %s', (_, difference) => {
    const step = stepAfter(UP_TO_BLOCK_1, { kept: ALL.slice(4, 5), ...difference })
    expect(told(step)).toBe('launch 05-block-2-optimized')
  })

  test('stay where they are repeats', () => {
    const step = stepAfter(UP_TO_BLOCK_1, { kept: REPEATS, watched: unfitAndDisturbed, isCancelled: true })
    expect(told(step)).toBe(`repeat ${FIRST}-repeat`)
  })
})

describe('final checkpoints', () => {
  const reevaluated = anExperiment({
    design: experiment.design,
    trainer: { ...experiment.trainer, evaluate_command: 'evaluate' },
  })
  const withCompletion = (status: 'passed' | 'inconclusive'): Judged => ({
    ...decided,
    verdict: { ...decided.verdict, checks: [{ name: 'completion', status, detail: '' }] },
  })
  const judgedAs: RunState['judgedAs'] = () => withCompletion('passed')
  const runIds = UP_TO_BLOCK_2.slice(2).map(({ outcome }) => outcome.run.id)

  test('of the measured runs are evaluated when all is launched, and at a look that decides', () => {
    const state = { experiment: reevaluated, judgedAs }
    expect(stepAfter(ALL, state)).toEqual({ status: 'evaluate', runIds, reason: 'stopped' })
    expect(stepAfter(UP_TO_BLOCK_1, state)).toEqual({ status: 'evaluate', runIds, reason: 'decided' })
  })

  test('are not evaluated where a launch is missing', () => {
    const judged = withCompletion('inconclusive')
    const state = { experiment: reevaluated, judgedAs: () => judged, isCancelled: true }
    expect(told(stepAfter(UP_TO_BLOCK_1, state))).toBe('stop: stopped')
  })

  test('are evaluated once, and the plan ends for the reason of before, whatever came meanwhile', () => {
    const state: Partial<RunState> = { experiment: reevaluated, judgedAs, evaluatedAfter: 'decided' }
    expect(told(stepAfter(UP_TO_BLOCK_1, { ...state, isCancelled: true }))).toBe('stop: decided')
  })
})
