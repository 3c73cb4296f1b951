// What a pass means, whatever the runs report: everything finished, every number finite, every required bound clear.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { assess } from '../../src/assess.ts'
import { judgeGate } from '../../src/judge/gates/gate-verdict.ts'
import { pairedRatio } from '../../src/judge/paired.ts'
import { type Launched, outcomeOf } from '../../src/measure/outcome.ts'
import { aGate, aLaunchRecord, anExperiment, aRequest, launchedPlan } from '../fixtures/builders.ts'

const experiment = anExperiment({
  design: { blocks: 3, warm_up_launches: 1, seed: 0 },
  gates: {
    speedup: { at_least: 3, severity: 'required', evidence: 'interval' },
    loss_delta: { below: 0.001, severity: 'required', evidence: 'interval' },
  },
})

const stepSeconds = fc.oneof(
  fc.double({ min: 0.01, max: 0.1, noNaN: true }),
  fc.double({ min: 5e-324, max: 1e308, noNaN: true }),
)
const valLoss = fc.oneof(
  fc.double({ min: 0.0199, max: 0.0201, noNaN: true }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const run = fc.record({ stepSeconds, valLoss })
/** Runs alike within a variant, so that a good part of them passes; some with one run that is unlike. */
const launches = fc
  .record({
    baseline: fc.record({ stepSeconds: fc.constant(0.08), valLoss: fc.constant(0.02) }),
    optimized: fc.oneof(fc.constant({ stepSeconds: 0.02, valLoss: 0.02 }), run),
    odd: fc.record({ position: fc.integer({ min: 0, max: 30 }), run }),
  })
  .map(
    ({ baseline, optimized, odd }) =>
      () =>
        launchedPlan(experiment, ({ variant, id }) =>
          id.startsWith(String(odd.position).padStart(2, '0')) ? odd.run : { baseline, optimized }[variant],
        ),
  )

const verdictOf = (launched: Launched[]) => assess(aRequest({ experiment }), launched)

test('a pass means that all finished, all is finite and every required bound clears its limit', async () => {
  let passes = 0
  await fc.assert(
    fc.asyncProperty(launches, async (launch) => {
      const { verdict, outcomes } = verdictOf(await launch())
      if (verdict.verdict !== 'passed') return
      passes += 1
      expect(outcomes.every(({ status }) => status === 'finished')).toBe(true)
      const needed = verdict.checks.filter(({ name }) => !['evaluation', 'noise floor'].includes(name))
      expect(needed.every(({ status }) => status === 'passed')).toBe(true)
      const [speedup, lossDelta] = verdict.gates.map(({ evidence }) => evidence?.bounds)
      expect(speedup?.lower).toBeGreaterThanOrEqual(3 * (1 - 1e-12))
      expect(speedup?.upper).toBeLessThan(Number.POSITIVE_INFINITY)
      expect(lossDelta?.upper).toBeLessThan(0.001)
      expect(lossDelta?.lower).toBeGreaterThan(Number.NEGATIVE_INFINITY)
    }),
    { numRuns: 200, seed: 7 },
  )
  // Else the property above has held for nothing.
  expect(passes).toBeGreaterThan(20)
})

test('a launch that fails, is cancelled or is missing never makes a pass', async () => {
  const ends = fc.constantFrom(
    { status: 'exited', exitCode: 1, wallSeconds: 1 } as const,
    { status: 'signalled', signal: 'SIGKILL', wallSeconds: 1 } as const,
    { status: 'timed-out', wallSeconds: 1 } as const,
    { status: 'cancelled', wallSeconds: 1 } as const,
    { status: 'not-started', message: 'no python3' } as const,
    null,
  )
  await fc.assert(
    fc.asyncProperty(launches, fc.nat(7), ends, async (launch, position, end) => {
      const broken = (await launch()).map((launched, index) => {
        if (index !== position) return launched
        const record = end && aLaunchRecord({}, end)
        return { launch: record, outcome: outcomeOf(launched.outcome.run, record, null) }
      })
      expect(verdictOf(broken).verdict.verdict).not.toBe('passed')
    }),
    { numRuns: 150, seed: 7 },
  )
})

test('a result is JSON without a null where a number was', async () => {
  await fc.assert(
    fc.asyncProperty(launches, async (launch) => {
      const { verdict } = verdictOf(await launch())
      expect(JSON.parse(JSON.stringify(verdict))).toEqual(verdict)
    }),
    { numRuns: 100, seed: 7 },
  )
})

test('one more block on the wrong side of the limit never turns an open gate into a pass', () => {
  // Derivation: t grows with r = sum(y) / sqrt(sum(y^2)), y the distances to the limit; y <= 0 lowers r, and the r that
  // passes, sqrt(t^2 n / (n - 1 + t^2)), grows with n.
  // In hundredths: at a distance of the last digits of a double, the rounding that a limit forgives would decide.
  const log = fc.integer({ min: -100, max: 100 }).map((hundredths) => hundredths / 100)
  const stateOf = (logs: readonly number[]) =>
    judgeGate({
      gate: aGate(),
      baseline: null,
      optimized: null,
      evidence: pairedRatio(logs.map((value) => ({ numerator: 3 * Math.exp(value), denominator: 1 }))),
      blocks: 4,
      repeating: [],
      seedless: [],
      roundedTo: null,
      writtenInSteps: null,
      heldOut: [],
      notFinite: [],
      whyNoTimeToQuality: null,
      look: { mayPass: true, mayFail: true },
    }).status
  let stillOpen = 0
  fc.assert(
    fc.property(fc.array(log, { minLength: 2, maxLength: 8 }), log, (logs, worse) => {
      if (stateOf(logs) === 'passed') return
      stillOpen += 1
      expect(stateOf([...logs, -Math.abs(worse)])).not.toBe('passed')
    }),
    { numRuns: 1000, seed: 7 },
  )
  expect(stillOpen).toBeGreaterThan(500)
})
