// Runs that scatter more than their machine does by itself, and floors that no longer hold.
import { describe, expect, test } from 'vitest'
import { assess } from '../../../src/assess.ts'
import { type Experiment, gatesOf } from '../../../src/config/experiment.ts'
import { compare } from '../../../src/judge/compare.ts'
import { checkNoise, compareWithFloors, type Floors, NO_FLOORS } from '../../../src/judge/noise/noise.ts'
import { chooseFloor, noiseKeyOf, trainingHash } from '../../../src/judge/noise/noise-floor.ts'
import { judge } from '../../../src/judge/verdict.ts'
import { UNWATCHED } from '../../../src/measure/machine-record.ts'
import type { RunOutcome } from '../../../src/measure/outcome.ts'
import { NOT_REEVALUATED } from '../../../src/measure/reevaluation.ts'
import type { RunSummary } from '../../../src/measure/summary.ts'
import {
  anExperiment,
  aRequest,
  aRunSummary,
  atPace,
  blocksOf,
  launchedPlan,
} from '../../fixtures/builders.ts'
import { aPreflight } from '../../fixtures/machine/records.ts'
import { aNoiseFloor, aNoiseKey } from '../../fixtures/noise-floors.ts'

const judgeRuns = (
  experiment: Experiment,
  outcomes: readonly RunOutcome[],
  runs: readonly RunSummary[],
  floors: Floors,
) =>
  judge({
    ...{ experiment, outcomes, runs, floors, sources: aRequest().sources, configs: null },
    comparison: compare(runs, gatesOf(experiment)),
    reevaluation: NOT_REEVALUATED,
  })

/** Both variants alternate between exp(-deviation) and exp(+deviation) of 5 ms. */
const alternating = (blocks: number, deviation: number) =>
  blocksOf(
    'seconds_per_sample',
    Array.from({ length: blocks }, () => ({ baseline: 1, optimized: 1 })),
  ).map((run) => ({
    ...atPace(run, 0.005 * Math.exp((run.block ?? 0) % 2 ? deviation : -deviation)),
    effective: { fused: run.variant === 'optimized' },
  }))

const found = (log_standard_deviation = 0.01) => ({
  status: 'found' as const,
  floor: aNoiseFloor({ log_standard_deviation, degrees_of_freedom: 8 }),
})

const statesOf = (runs: readonly RunSummary[], floors: Floors, looks = 1) => {
  const compared = compareWithFloors(runs, floors, looks)
  return compared.status === 'measured'
    ? compared.variants.map(({ variant, status }) => `${variant} ${status}`)
    : compared.reason
}

describe('runs on a machine with a floor', () => {
  test('are within it, or above by the F test at 1%', () => {
    // Quotient of variances (4 runs: 3 degrees of freedom) 4/3 d^2 / 0.01^2 against f.ppf(0.99, 3, 8) = 7.590992 of SciPy 1.17.1.
    const limit = Math.sqrt((7.590992 * 3) / 4) * 0.01
    const floors = { ...NO_FLOORS, baseline: found() }
    expect(statesOf(alternating(4, limit * 0.999), floors)).toEqual(['baseline within'])
    expect(statesOf(alternating(4, limit * 1.001), floors)).toEqual(['baseline above'])
  })

  test('are not above for a single slow or fast run, which widens the interval instead', () => {
    const once = (pace: number) =>
      alternating(4, 0.001).map((run) => (run.block === 3 ? atPace(run, pace) : run))
    const slowOnce = once(0.01)
    for (const runs of [slowOnce, once(0.0025)])
      expect(statesOf(runs, { ...NO_FLOORS, baseline: found() })).toEqual(['baseline within'])
    const slowTwice = slowOnce.map((run) => (run.block === 1 ? atPace(run, 0.01) : run))
    expect(statesOf(slowTwice, { ...NO_FLOORS, baseline: found() })).toEqual(['baseline above'])
  })

  test('are above only if all but a quarter of them are, by the F test at 5%', () => {
    // One of 4 is left out: 2 degrees of freedom, 4/3 d^2 / 0.01^2 against f.ppf(0.95, 2, 8) = 4 (0.05^(-1/4) - 1).
    const limit = Math.sqrt((4 * (0.05 ** -0.25 - 1) * 3) / 4) * 0.01
    const slowOnce = (deviation: number) =>
      alternating(4, deviation).map((run) => (run.block === 3 ? atPace(run, 0.01) : run))
    const floors = { ...NO_FLOORS, baseline: found() }
    expect(statesOf(slowOnce(limit * 0.999), floors)).toEqual(['baseline within'])
    expect(statesOf(slowOnce(limit * 1.001), floors)).toEqual(['baseline above'])
    const slowTwiceOf5 = alternating(5, 0.001).map((run) => ((run.block ?? 0) > 3 ? atPace(run, 0.01) : run))
    expect(statesOf(slowTwiceOf5, floors)).toEqual(['baseline within'])
  })

  test('are not above from two runs, of which one would be left', () => {
    expect(statesOf(alternating(2, 1), { ...NO_FLOORS, baseline: found() })).toEqual(['baseline within'])
  })

  test('share the 1% between two floors, each of its own training', () => {
    // f.ppf(0.995, 3, 8) = 9.596475 of SciPy 1.17.1.
    const limit = Math.sqrt((9.596475 * 3) / 4) * 0.01
    const floors = { baseline: found(), optimized: found(0.02) }
    expect(statesOf(alternating(4, limit * 0.999), floors)).toEqual(['baseline within', 'optimized within'])
    expect(statesOf(alternating(4, limit * 1.001), floors)).toEqual(['baseline above', 'optimized within'])
  })

  test('name the variant that is above', () => {
    const floors = { baseline: found(0.001), optimized: found(0.02) }
    const { status, detail } = checkNoise(compareWithFloors(alternating(4, 0.01), floors, 1))
    expect(status).toBe('warned')
    expect(detail).toMatch(/^baseline [^;]*more \(F test[^;]*; optimized /)
    expect(detail).not.toMatch(/optimized.*more/)
  })

  test('share it between the looks at which they may be found above', () => {
    // f.ppf(0.995, 3, 8) = 9.596475 of SciPy 1.17.1.
    const limit = Math.sqrt((9.596475 * 3) / 4) * 0.01
    const floors = { ...NO_FLOORS, baseline: found() }
    expect(statesOf(alternating(4, limit * 0.999), floors, 2)).toEqual(['baseline within'])
    expect(statesOf(alternating(4, limit * 1.001), floors, 2)).toEqual(['baseline above'])
  })

  test('take as many looks as the experiment has', async () => {
    const judgedWith = async (blocks: number | number[]) => {
      const experiment = anExperiment({ design: { blocks, warm_up_launches: 0, seed: 0 } })
      const launched = await launchedPlan(experiment)
      const outcomes = launched.map(({ outcome }) => outcome)
      // Quotient of variances 8.5: over 7.59 of one look (1%), under 9.60 of two (0.5%).
      const runs = alternating(4, Math.sqrt((8.5 * 3) / 4) * 0.01)
      const floors = { ...NO_FLOORS, baseline: found() }
      const { noise } = judgeRuns(experiment, outcomes, runs, floors)
      return noise.status === 'measured' ? noise.variants.map(({ status }) => status) : noise.reason
    }
    expect(await judgedWith(4)).toEqual(['above'])
    expect(await judgedWith([4, 6])).toEqual(['within'])
  })

  test('are told of a floor that is wide for the most blocks that the experiment may have', async () => {
    const warningsOf = async (blocks: number | number[]) => {
      const experiment = anExperiment({
        design: { blocks, warm_up_launches: 0, seed: 0 },
        gates: { speedup: { at_least: 0.98, severity: 'required', evidence: 'interval' } },
      })
      const outcomes = (await launchedPlan(experiment)).map(({ outcome }) => outcome)
      const runs = alternating(4, 0.001)
      const floors = { ...NO_FLOORS, baseline: found() }
      return judgeRuns(experiment, outcomes, runs, floors).warnings
    }
    expect(await warningsOf(4)).toEqual([expect.stringContaining('is wide for speedup')])
    expect(await warningsOf([4, 12])).toEqual([])
  })

  test('are not compared without a floor, or without two runs of a variant', () => {
    expect(statesOf(alternating(4, 0.01), NO_FLOORS)).toBe('no noise floor was looked up')
    expect(statesOf(alternating(1, 0.01), { baseline: found(), optimized: found() })).toBe(
      'no variant has two measured runs',
    )
  })

  test('have no warm-up launch among them', () => {
    const warmUps = [1, 9].map((pace) => atPace(aRunSummary({ purpose: 'warm-up', block: null }), pace))
    expect(statesOf(warmUps, { ...NO_FLOORS, baseline: found() })).toBe('no variant has two measured runs')
  })

  test('are told above it, and their interval decides: machines are noisier on some days than on others', async () => {
    const experiment = anExperiment()
    const launched = await launchedPlan(experiment, ({ variant, seed }) => ({
      stepSeconds: (variant === 'baseline' ? 0.08 : 0.02) * (1 + 0.01 * (seed % 2)),
    }))
    const { runs } = assess(aRequest({ experiment }), launched)
    const outcomes = launched.map(({ outcome }) => outcome)
    const verdictWith = (deviation: number) =>
      judgeRuns(experiment, outcomes, runs, {
        ...NO_FLOORS,
        baseline: found(deviation),
      })
    expect(verdictWith(0.005).verdict).toBe('passed')
    expect(verdictWith(0.005).warnings).toEqual([])
    expect(verdictWith(0.001).verdict).toBe('passed')
    expect(verdictWith(0.001).warnings[0]).toMatch(
      /^noise floor: baseline.* 0\.57%.*more \(F test at 1%\).* 0\.10% .*find what/,
    )
  })
})

describe('a stored floor', () => {
  const floor = aNoiseFloor()
  const chosen = (difference: Parameters<typeof aNoiseKey>[0]) => chooseFloor(aNoiseKey(difference), [floor])

  test('holds for the same training on the same machine in the same state with the same versions', () => {
    expect(chosen({})).toEqual({ status: 'found', floor })
  })

  test('is none of another training or machine', () => {
    const none = { status: 'none', reason: expect.stringContaining('none stored') }
    expect(chosen({ training: 'b'.repeat(64) })).toEqual(none)
    expect(chosen({ machine: 'another box' })).toEqual(none)
    expect(chooseFloor(null, [])).toEqual(none)
    expect(chooseFloor(null, [floor])).toMatchObject({ reason: 'the machine was not checked' })
  })

  test('is stale, and says why, with another version or state', () => {
    const stale = chosen({ versions: { torch: '2.16.0', cuda: '13.1' }, state: 'driver 590' })
    expect(stale).toMatchInlineSnapshot(`
      {
        "reason": "the stored one of 2026-11-20 is stale: cuda was absent, is 13.1, torch was 2.15.0, is 2.16.0, the machine was in another state (driver, modes, kernel or devices). Measure it again with --mode aa",
        "status": "none",
      }
    `)
  })

  test('is stale for a revision that trains with other versions than the one it was measured of', async () => {
    const experiment = anExperiment()
    const request = aRequest({ experiment })
    const preflight = aPreflight({})
    const launched = await launchedPlan(experiment, ({ variant }) =>
      variant === 'optimized' ? { start: { versions: { python: '3.11.2', torch: '2.16.0' } } } : {},
    )
    const { runs } = assess(request, launched)
    const baseline = runs.filter((run) => run.variant === 'baseline')
    const key = noiseKeyOf(trainingHash(experiment, request.configs, 'optimized'), preflight, baseline)
    if (key === null) throw new Error('no key')
    const watched = { ...UNWATCHED, preflight }
    const { verdict } = assess({ ...request, noiseFloors: [aNoiseFloor({ key })] }, launched, watched)
    expect(verdict.noise.status).toBe('not-measured')
  })

  test('gives way to a newer one', () => {
    const newer = aNoiseFloor({ measured_at: '2026-11-21T00:00:00.000Z' })
    expect(chooseFloor(aNoiseKey(), [floor, newer])).toEqual({ status: 'found', floor: newer })
  })
})

describe('the key of a floor', () => {
  const { experiment, configs } = aRequest()
  const hash = trainingHash(experiment, configs, 'baseline')

  test('does not depend on the order of settings, but on each of them, on environment and processes', () => {
    expect(trainingHash(experiment, configs, 'baseline', {})).toBe(hash)
    expect(trainingHash(experiment, configs, 'baseline', { OMP_NUM_THREADS: '1' })).not.toBe(hash)
    const turned = { ...configs, baseline: { speed: { fused: false }, batch: 512 } }
    expect(trainingHash(experiment, turned, 'baseline')).toBe(hash)
    expect(trainingHash(experiment, configs, 'optimized')).not.toBe(hash)
    for (const launch of [{ nproc_per_node: 4 }, { env: { OMP_NUM_THREADS: '1' } }]) {
      const changed = { ...experiment, launch: { ...experiment.launch, ...launch } }
      expect(trainingHash(changed, configs, 'baseline')).not.toBe(hash)
    }
  })

  test('names the GPUs, and what of them may change', () => {
    const [now, later] = [
      aPreflight({}),
      aPreflight({ host: { ...aPreflight({}).host, kernel: '7.0' } }),
    ].map((preflight) => noiseKeyOf(hash, preflight, [aRunSummary()]))
    expect(now).toMatchObject({ machine: later?.machine, versions: { torch: '2.15.0' } })
    expect(now?.state).not.toBe(later?.state)
    expect(noiseKeyOf(hash, null, [aRunSummary()])).toBeNull()
    expect(noiseKeyOf(hash, aPreflight({}), [])).toBeNull()
  })
})
