// What is predicted and calibrated by playing looks ends as the run loop does.
import { expect, test } from 'vitest'
import { assess } from '../../../src/assess.ts'
import { gatesOf } from '../../../src/config/experiment.ts'
import type { GatesFile } from '../../../src/config/gates/gates.ts'
import { compare } from '../../../src/judge/compare.ts'
import { lookRuleOf } from '../../../src/judge/looks/look-rule.ts'
import { type Played, playLooks } from '../../../src/judge/looks/play.ts'
import { type Judged, nextStep } from '../../../src/judge/next-step.ts'
import { leastDeviation } from '../../../src/judge/noise/least-deviation.ts'
import { NO_FLOORS } from '../../../src/judge/noise/noise.ts'
import { judge } from '../../../src/judge/verdict.ts'
import { type Launched, type NotRunReason, outcomeOf } from '../../../src/measure/outcome.ts'
import { NOT_REEVALUATED } from '../../../src/measure/reevaluation.ts'
import { lookAt } from '../../../src/plan/looks.ts'
import { planRuns } from '../../../src/plan/plan.ts'
import { seededRandom } from '../../../src/statistics/random.ts'
import { anExperiment, aRequest, atPace, launchedPlan } from '../../fixtures/builders.ts'
import { aMachineRecord, aPreflight } from '../../fixtures/machine/records.ts'
import { normal } from '../../fixtures/noise.ts'

const gates: GatesFile = { speedup: { at_least: 3, severity: 'required', evidence: 'interval' } }
const experiment = { ...anExperiment({ design: { blocks: [2, 4, 6, 8] } }), gates }
const plan = planRuns(experiment)
const ALL = await launchedPlan(experiment)
const { runs: STEADY } = assess(aRequest({ experiment }), ALL)
const watched = {
  preflight: aPreflight(),
  records: new Map(plan.map(({ id }) => [id, [aMachineRecord()]] as const)),
}
const least = leastDeviation(NO_FLOORS)
const BLOCKS = 8
const SERIES = 200

/** `values`: ln(speedup) of each block. */
function judgedAfter(done: readonly Launched[], values: readonly number[], reason: NotRunReason): Judged {
  const ids = new Set(done.map(({ outcome }) => outcome.run.id))
  const runs = STEADY.filter(({ runId }) => ids.has(runId)).map((run) => {
    const block = run.block ?? 0
    const baseline = 0.005 * (1 + 0.001 * block)
    return atPace(run, run.variant === 'baseline' ? baseline : baseline / Math.exp(values[block - 1] ?? 0))
  })
  const outcomes = ALL.map(({ outcome }) =>
    ids.has(outcome.run.id) ? outcome : outcomeOf(outcome.run, null, null, reason),
  )
  const look = lookRuleOf(lookAt(experiment, blocksIn(done)), least)
  const verdict = judge({
    ...{ experiment, outcomes, runs, floors: NO_FLOORS, sources: aRequest().sources, configs: null },
    ...{ comparison: compare(runs, gatesOf(experiment), look), reevaluation: NOT_REEVALUATED },
  })
  return { runs, machineChecks: [], verdict }
}

function blocksIn(done: readonly Launched[]): number {
  return Math.max(0, ...done.map(({ outcome }) => outcome.run.block ?? 0))
}

/** The run loop, launch by launch. */
function looped(values: readonly number[]): Played {
  for (let count = 0; ; count += 1) {
    const done = ALL.slice(0, count)
    const step = nextStep({
      ...{ experiment, plan, done, kept: [], watched, isCancelled: false, evaluatedAfter: null },
      judgedAs: (reason) => judgedAfter(done, values, reason),
    })
    if (step.status !== 'stop') continue
    const [gate] = judgedAfter(done, values, step.reason).verdict.gates
    return {
      status: gate?.status ?? 'not-measured',
      blocks: blocksIn(done),
      stoppedAsFutile: step.reason === 'futile',
    }
  }
}

test('200 series of values have the same end in the run loop and in the play of it', () => {
  const [gate] = gatesOf(experiment)
  if (gate === undefined) throw new Error('no gate')
  const random = seededRandom(57)
  const truths = [1.2, 2.6, 2.9, 3, 3.05, 3.3, 3.6]
  const series = Array.from({ length: SERIES }, (_, one) => {
    const scatter = [0.01, 0.03, 0.06][one % 3] ?? 0
    const truth = Math.log(truths[Math.floor(one / 3) % truths.length] ?? 3)
    return Array.from({ length: BLOCKS }, () => truth + scatter * normal(random))
  })
  const rules = { leastDeviation: least, stopsWhenFutile: true }
  const played = series.map((values) => playLooks(gate, values, experiment.design.looks, rules))
  expect(series.map(looped)).toEqual(played)
  const ends = new Set(
    played.map(({ status, blocks, stoppedAsFutile }) => `${stoppedAsFutile ? 'futile' : status} ${blocks}`),
  )
  expect([...ends]).toEqual(expect.arrayContaining(['failed 2', 'passed 4', 'futile 4', 'inconclusive 8']))
})
