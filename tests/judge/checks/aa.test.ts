// An A/A: the baseline against itself tells how its runs scatter, and whether the machine is fair to both halves.
import { describe, expect, test } from 'vitest'
import { assess } from '../../../src/assess.ts'
import { checkAa, findAa, noiseFloorOf } from '../../../src/judge/checks/aa.ts'
import { noiseFloorSchema } from '../../../src/judge/noise/noise-floor.ts'
import { UNWATCHED } from '../../../src/measure/machine-record.ts'
import type { PlannedRun } from '../../../src/plan/plan.ts'
import { renderMarkdown } from '../../../src/report/markdown.ts'
import { renderTerminal } from '../../../src/report/terminal.ts'
import { seededRandom } from '../../../src/statistics/random.ts'
import { anExperiment, aRequest, blocksOf, launchedPlan } from '../../fixtures/builders.ts'
import { aPreflight } from '../../fixtures/machine/records.ts'
import { normal } from '../../fixtures/noise.ts'
import { aNoiseKey } from '../../fixtures/noise-floors.ts'

/** Block k of both variants takes 5 ms, times exp(deviation) in odd blocks and exp(-deviation) in even ones. */
const alternating = (blocks: number, deviation: number, optimizedFactor = 1) =>
  runsOf(
    Array.from({ length: blocks }, (_, index) => {
      const seconds = 0.005 * Math.exp(index % 2 ? -deviation : deviation)
      return [seconds, seconds * optimizedFactor]
    }),
  )

function runsOf(pairs: readonly (readonly number[])[]) {
  return blocksOf(
    'seconds_per_sample',
    pairs.map(([baseline = 1, optimized = 1]) => ({ baseline, optimized })),
  )
}

const ORIGIN = { measured_at: '2026-11-20T12:00:00.000Z', revision: null }

describe('an A/A of a fair machine', () => {
  test('gives the spread of the logarithms around the mean of each half', () => {
    // 5 values +d, -d, +d, -d, +d: 24/5 d^2 around their mean in each half, over 8 degrees of freedom.
    const finding = findAa(alternating(5, 0.01))
    expect(checkAa(finding).status).toBe('passed')
    const floor = noiseFloorOf(finding, aNoiseKey(), ORIGIN)
    expect(floor?.log_standard_deviation).toBeCloseTo(Math.sqrt((2 * 24 * 0.01 ** 2) / 5 / 8), 12)
    expect(floor).toMatchObject({ runs: 10, degrees_of_freedom: 8, key: aNoiseKey(), ...ORIGIN })
    expect(noiseFloorSchema.parse(floor)).toEqual(floor)
  })

  test('is refused by noise alone in 1% of cases', () => {
    const random = seededRandom(7)
    const noisy = () => 0.005 * Math.exp(0.01 * normal(random))
    const refused = Array.from({ length: 4000 }, () =>
      checkAa(findAa(runsOf(Array.from({ length: 6 }, () => [noisy(), noisy()])))),
    ).filter(({ status }) => status === 'failed').length
    // Three standard errors of a share of 1% of 4000.
    expect(Math.abs(refused / 4000 - 0.01)).toBeLessThan(3 * Math.sqrt((0.01 * 0.99) / 4000))
  })
})

describe('an A/A gives no floor', () => {
  const floorOf = (...parts: Parameters<typeof alternating>) =>
    noiseFloorOf(findAa(alternating(...parts)), aNoiseKey(), ORIGIN)

  test('when one half is slower than the other', () => {
    const check = checkAa(findAa(alternating(6, 0.001, 1.03)))
    expect(check).toMatchObject({ status: 'failed', detail: expect.stringContaining('does not contain 1') })
    expect(floorOf(6, 0.001, 1.03)).toBeNull()
  })

  test('from fewer than 10 runs, and from runs that do not scatter', () => {
    expect(checkAa(findAa(alternating(4, 0.01))).detail).toMatch(/^8 runs .*at least 10\. .*--resume/)
    expect(floorOf(4, 0.01)).toBeNull()
    // Of other numbers of runs the mean of equal logarithms is not that logarithm to the last digit.
    for (const blocks of [5, 6, 7, 9]) {
      expect(checkAa(findAa(alternating(blocks, 0))).detail).toMatch(/same time.*step seconds/)
      expect(floorOf(blocks, 0)).toBeNull()
    }
  })

  test('when a run was not timed', () => {
    const finding = findAa(
      alternating(5, 0.01).map((run, index) => (index === 0 ? { ...run, metrics: {} } : run)),
    )
    expect(checkAa(finding)).toMatchObject({
      status: 'inconclusive',
      detail: expect.stringMatching(/run was timed.*step seconds/),
    })
    expect(noiseFloorOf(finding, aNoiseKey(), ORIGIN)).toBeNull()
  })

  test('without a machine that was looked at', () => {
    expect(noiseFloorOf(findAa(alternating(5, 0.01)), null, ORIGIN)).toBeNull()
  })
})

describe('the whole line of an A/A', () => {
  const ofBlocks = (blocks: number) =>
    anExperiment({
      mode: 'aa',
      design: { blocks, warm_up_launches: 1, seed: 0 },
      gates: { speedup: { at_least: 1, severity: 'info', evidence: 'interval' } },
    })
  const experiment = ofBlocks(6)
  const configs = { baseline: { batch: 512 }, optimized: { batch: 512 } }
  const watched = { ...UNWATCHED, preflight: aPreflight() }
  const resultOf = async (factor: (run: PlannedRun) => number) =>
    assess(
      aRequest({ experiment, configs }),
      await launchedPlan(experiment, (run) => ({ stepSeconds: 0.08 * factor(run) })),
      watched,
    )
  /** A scatter of about 1% that depends on the place of the run alone. */
  const scatter = ({ id }: PlannedRun) => 1 + 0.01 * Math.sin(Number.parseInt(id, 10) ** 2)

  test('passes with a floor, and says so', async () => {
    const result = await resultOf(scatter)
    expect(result.verdict.verdict).toBe('passed')
    expect(result.measuredFloor).toMatchObject({
      runs: 12,
      degrees_of_freedom: 10,
      key: { machine: 'GPU-0, GPU-1' },
      revision: result.revision,
    })
    expect(renderTerminal(result)).toMatchInlineSnapshot(`
      "two-task: baseline against itself (A/A)

      | gate    | change | 95% confidence bounds | limit    | verdict     |
      | ------- | ------ | --------------------- | -------- | ----------- |
      | speedup | 1.00x  | 0.99x to 1.02x        | >= 1.00x | open (info) |

        speedup: baseline 5.00 ms/sample, optimized 4.99 ms/sample

        speedup: baseline / optimized seconds per sample in the steady state, mean of the paired ratios over 6 blocks. The interval spans the limit after 6 blocks. Minimal detectable effect: 1.6% past the limit, in 80% of experiments.

        Noise floor: 12 runs of this training scatter by 0.77% on this machine (standard deviation of ln seconds per sample, 10 degrees of freedom).

      Checks
        completion: passed, 14 of 14 launches finished
        equal work: passed, 640 samples, 40 updates, 1000 parameters in every run; what a step computes is not read back
        same code: passed, the trainer's sources are the same before and after every run
        same machine: passed, 2 x NVIDIA H200 in every run
        steady state: passed, timed after 10 warm-up steps, the same for all runs
        clocks: passed, the times that the runs report fit into the time that their processes took
        evaluation: not measured, not re-evaluated: trainer.evaluate_command is not set
        a/a: passed, the baseline against itself: 1.00x (0.980x to 1.02x, 99% interval); runs scatter by 0.77%

      Machine
        lock: passed, no other experiment here
        GPUs: passed, 2 x NVIDIA H200, driver 580.159.04
        GPU processes: passed, no other process computes on them
        GPU memory: passed, at most 0% in use before the first run
        ECC: passed, no pending memory errors
        GPU probe: passed, the fastest GPU is 1.4% ahead of the slowest in matrix products and 0.24% in copies
        GPU state: not measured, not every run reported it
        throttling: not measured, not every run was monitored to its end
        GPU sharing, GPU release: not measured, the processes on the GPUs cannot be seen from here
        compile caches: passed, no block has one cold and one warm run (warm)
        not measured: SM clock, slowed down by heat or hardware, at the power limit, hottest GPU, any kernel ran (saturates), power of all GPUs, energy per sample, peak memory reserved, peak memory allocated, allocation retries

      ✅ two-task (A/A) passed on this host: 14 of 14 launches finished; the baseline against itself: 1.00x (0.980x to 1.02x, 99% interval); runs scatter by 0.77%"
    `)
    expect(renderMarkdown(result)).toContain('Speedproof: two-task (A/A) passed')
  })

  test('of one block knows no precision, as any other experiment', async () => {
    const short = ofBlocks(1)
    const { verdict } = assess(aRequest({ experiment: short, configs }), await launchedPlan(short))
    expect(verdict.gates.map(({ precision }) => precision)).toEqual([null])
  })

  test('is invalid, without a floor, when it finds a difference', async () => {
    const result = await resultOf((run) => scatter(run) * (run.variant === 'optimized' ? 1.1 : 1))
    expect(result.verdict).toMatchObject({ verdict: 'invalid' })
    expect(result.verdict.reason).toContain('a/a: the baseline differs from itself')
    expect(result.measuredFloor).toBeNull()
  })

  test('has its floor found by the next experiment on this machine', async () => {
    const { measuredFloor } = await resultOf(scatter)
    const next = anExperiment()
    const request = aRequest({
      experiment: next,
      configs: { ...configs, optimized: { batch: 512, speed: { fused: true } } },
      noiseFloors: measuredFloor ? [measuredFloor] : [],
    })
    const { verdict } = assess(request, await launchedPlan(next), watched)
    expect(verdict.checks.find(({ name }) => name === 'noise floor')).toMatchObject({ status: 'passed' })
  })
})
