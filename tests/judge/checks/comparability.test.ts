// Runs are comparable when they did equal work on one machine in a steady state by honest clocks.
import { describe, expect, test } from 'vitest'
import { type Experiment, VARIANTS } from '../../../src/config/experiment.ts'
import type { GatesFile } from '../../../src/config/gates/gates.ts'
import type { ResolvedConfigs, TrainerConfig } from '../../../src/config/same-work/same-work.ts'
import { checkComparability } from '../../../src/judge/checks/all.ts'
import type { RunSummary } from '../../../src/measure/summary.ts'
import { seededRandom } from '../../../src/statistics/random.ts'
import { anExperiment, aRunSummary, atPace } from '../../fixtures/builders.ts'
import { normal } from '../../fixtures/noise.ts'

const checksOf = (
  experiment: Experiment,
  measured: readonly RunSummary[],
  configs: ResolvedConfigs | null = null,
) => checkComparability({ experiment, measured, configs })

/** The checks that fail when the optimized run differs from the baseline like this. */
function problemsOf(difference: Partial<RunSummary>, experiment = anExperiment()): string[] {
  const runs = [aRunSummary(), aRunSummary({ variant: 'optimized', ...difference })]
  return checksOf(experiment, runs)
    .filter(({ status }) => status !== 'passed')
    .map(({ name, status, detail }) => `${name} ${status}: ${detail}`)
}

test('equal runs pass every check, and each says what it saw', () => {
  expect(problemsOf({})).toEqual([])
  expect(
    checksOf(anExperiment(), [aRunSummary()]).map(({ name, detail }) => `${name}: ${detail}`),
  ).toMatchInlineSnapshot(`
    [
      "equal work: 640 samples, 40 updates, 1000 parameters in every run; what a step computes is not read back",
      "same code: the trainer's sources are the same before and after every run",
      "same machine: 2 x NVIDIA H200 in every run",
      "steady state: timed after 10 warm-up steps, the same for all runs",
      "clocks: the times that the runs report fit into the time that their processes took",
    ]
  `)
})

describe('the config that a run reports', () => {
  const given = { batch: 512, speed: { fused: true } }
  const equalWork = (reported: TrainerConfig, configs: ResolvedConfigs) =>
    checksOf(
      anExperiment(),
      [1, 2].flatMap((block) => VARIANTS.map((variant) => aRunSummary({ variant, block, config: reported }))),
      configs,
    ).find(({ name }) => name === 'equal work')

  test('is that of its variant', () => {
    expect(equalWork({ ...given, more: 1 }, { baseline: given, optimized: given })?.status).toBe('passed')
    const optimized = { batch: 512, speed: { fused: false } }
    expect(equalWork(given, { baseline: given, optimized })).toMatchInlineSnapshot(`
      {
        "detail": "block-1-optimized, block-2-optimized: speed.fused was given as false, but reported true. Read the config that --config names, and report it",
        "name": "equal work",
        "status": "failed",
      }
    `)
  })

  test('is told in few words, however long it is', () => {
    const baseline = { ...given, text: 'x'.repeat(1_000_000) }
    const detail = equalWork({ text: 'y'.repeat(1_000_000) }, { baseline, optimized: baseline })?.detail
    expect(detail).toMatch(/batch was given as 512, but not reported/)
    const other = equalWork({ ...baseline, text: 'y'.repeat(1_000_000) }, { baseline, optimized: baseline })
    expect(other?.detail).toMatch(/text was given as "xxx.*…, but reported "yyy.*…\./)
    expect(other?.detail.length).toBeLessThan(600)
  })
})

test('without a finished run nothing is known', () => {
  expect(checksOf(anExperiment(), []).map(({ status }) => status)).toEqual(Array(5).fill('inconclusive'))
})

describe('a trend over the timed steps', () => {
  /** A speedup of 3.1x by all steps, and by those of the later half as given. */
  const steadyState = (
    trends: readonly number[],
    laterSpeedup = 2.9,
    more: Partial<RunSummary> = {},
    experiment = anExperiment(),
  ) => {
    const runs = trends.flatMap((logTrend, index) => {
      const baseline = 0.0031 * (1 + 0.001 * index)
      return [
        atPace(aRunSummary({ block: index + 1, laterHalfSecondsPerSample: baseline, ...more }), baseline),
        atPace(
          aRunSummary({
            ...{ block: index + 1, variant: 'optimized', logTrend },
            ...{ laterHalfSecondsPerSample: (baseline / laterSpeedup) * (1 + 0.0001 * (index % 2)), ...more },
          }),
          0.001 * (1 - 0.001 * (index % 2)),
        ),
      ]
    })
    return checksOf(experiment, runs).find(({ name }) => name === 'steady state')
  }

  test('that all runs share is no steady state', () => {
    expect(steadyState([0.1, 0.11, 0.1, 0.09])).toMatchInlineSnapshot(`
      {
        "detail": "optimized: over the timed steps all 4 runs get slower by more than 2%. Make the runs longer, or find what changes. With the later half of the steps alone, speedup would be failed",
        "name": "steady state",
        "status": "failed",
      }
    `)
    expect(steadyState([-0.1, -0.11, -0.1, -0.09])?.detail).toContain('all 4 runs get faster by more than 2%')
  })

  test('that changes no gate is a warning, in an experiment that gates no time too', () => {
    const trends = [0.1, 0.11, 0.1, 0.09]
    expect(steadyState(trends, 3.05)).toMatchObject({
      status: 'warned',
      detail: expect.stringMatching(/get slower by more than 2%.*later half .* decides the same/),
    })
    const gates = { loss_delta: { below: 0.001, severity: 'required', evidence: 'interval' } } as const
    expect(steadyState(trends, 2.9, {}, anExperiment({ gates }))).toMatchObject({
      status: 'warned',
      detail: expect.stringContaining('No required gate rests on the timed steps'),
    })
  })

  test.each([
    ['energy_ratio', { at_most: 0.9, severity: 'required', evidence: 'interval' }, 'failed'],
    ['energy_per_sample', { at_most: 9, severity: 'required', evidence: 'interval' }, 'failed'],
    ['data_wait_ratio', { at_most: 0.9, severity: 'required', evidence: 'interval' }, 'failed'],
    ['energy_ratio', { at_most: 0.9, severity: 'info', evidence: 'interval' }, 'warned'],
    ['total_speedup', { at_least: 3, severity: 'required', evidence: 'interval' }, 'warned'],
  ] as const)('with a gate %s of %j is %s', (name, gate, status) => {
    const gates: GatesFile = {
      speedup: { at_least: 3, severity: 'required', evidence: 'interval' },
      [name]: gate,
    }
    const check = steadyState([0.1, 0.11, 0.1, 0.09], 3.05, {}, anExperiment({ gates }))
    expect(check?.status).toBe(status)
    if (status === 'failed') expect(check?.detail).toContain(`cannot judge ${name}`)
  })

  test('leaves no noise floor of an A/A', () => {
    const gates = { loss_delta: { below: 0.001, severity: 'required', evidence: 'interval' } } as const
    expect(steadyState([0.1, 0.11, 0.1, 0.09], 3.05, {}, anExperiment({ mode: 'aa' }))?.status).toBe('failed')
    expect(steadyState([0.1, 0.11, 0.1, 0.09], 3.05, {}, anExperiment({ mode: 'aa', gates }))?.status).toBe(
      'failed',
    )
  })

  test('of runs whose long steps come back asks for whole periods', () => {
    const detail = (trend: number) =>
      steadyState([trend, trend, trend + 0.001], 3.05, { longStepsEvery: 50 })?.detail
    expect(detail(0.1)).toContain('report period_steps: 50')
    expect(detail(0)).toContain('report period_steps: 50')
  })

  test('is luck in at most 2% of experiments, over both variants and all looks', () => {
    const random = seededRandom(5)
    const experiment = anExperiment({ design: { blocks: [4, 6, 8] } })
    const isRefused = () => {
      const runs = VARIANTS.flatMap((variant) =>
        Array.from({ length: 8 }, (_, index) =>
          aRunSummary({ variant, block: index + 1, logTrend: 0.3 * normal(random) }),
        ),
      )
      return [4, 6, 8].some((look) => {
        const seen = runs.filter(({ block }) => (block ?? 0) <= look)
        return checksOf(experiment, seen).some(
          ({ name, status }) => name === 'steady state' && status !== 'passed',
        )
      })
    }
    const experiments = 2000
    const refused = Array.from({ length: experiments }, isRefused).filter(Boolean).length
    expect(refused / experiments).toBeLessThanOrEqual(0.02)
  })

  test('is told from three runs on', () => {
    expect(steadyState([0.1, 0.101, 0.1])?.status).toBe('failed')
  })

  test.each([
    ['of one run', [0.3, 0, 0.01, -0.01]],
    ['in any direction, as on a noisy machine', [0.08, -0.05, 0.06, -0.02]],
    ['of less than 2%', [0.015, 0.014, 0.016, 0.015]],
    ['of two runs, which are too few to tell', [0.1, 0.1]],
  ])('%s leaves it steady', (_, trends) => {
    expect(steadyState(trends)?.status).toBe('passed')
  })
})

describe('work is unequal', () => {
  const cases: [string, Partial<RunSummary>][] = [
    ['samples', { samples: 320, reportedSamples: 320, evaluatedAfterSamples: 320 }],
    ['updates', { attemptedUpdates: 20, steps: 20, warmUpSteps: 5 }],
    ['steps that are no updates', { steps: 20, warmUpSteps: 5 }],
    ['world size', { worldSize: 4 }],
    ['parameters', { parameterCount: 500 }],
    ['data', { dataHash: 'beef' }],
    ['held-out samples', { evaluationSamples: 32 }],
    ['the held-out set', { evaluationHash: 'beef' }],
    ['a seed that was not planned', { reportedSeed: 7 }],
    ['a run that was resumed inside', { resumedAtSteps: [20] }],
    ['a miscount', { reportedSamples: 1280 }],
    ['an early evaluation', { evaluatedAfterSamples: 320 }],
    ['a reported config', { config: { batch: 1024 } }],
  ]

  test.each(cases)('in %s', (_, difference) => {
    expect(problemsOf(difference)).toHaveLength(1)
    expect(problemsOf(difference)[0]).toMatch(/^equal work failed: /)
  })

  test('and the report says how', () => {
    expect(
      cases.map(([, difference]) => problemsOf(difference)[0]?.replace('equal work failed: ', '')),
    ).toMatchInlineSnapshot(`
      [
        "training samples differ: 640 (baseline) / 320 (optimized)",
        "attempted updates differ: 40 (baseline) / 20 (optimized)",
        "steps for the samples of the warm-up of block 1 differ: 10 (baseline) / 5 (optimized); block-1-optimized: reports 20 steps, but its run_end says 40 attempted updates. Report one step for each update",
        "world sizes differ: 2 (baseline) / 4 (optimized); block-1-optimized: ran on 4 processes, expected 2. Check how the command line sets it",
        "parameter counts differ: 1000 (baseline) / 500 (optimized)",
        "data hashes differ: da7a (baseline) / beef (optimized)",
        "held-out samples differ: 64 (baseline) / 32 (optimized)",
        "hashes of the held-out set of block 1 differ: not reported (baseline) / beef (optimized). Set the same evaluation batch size in both variants: it changes the padding, or how many samples there are. If the evaluation draws at random, give it a fixed seed",
        "block-1-optimized: ran with seed 7, expected 1. Check how the command line sets it",
        "block-1-optimized: was resumed after step 20, so its times are not those of one process. Train it from start to end in one launch",
        "block-1-optimized: its steps add up to 640 samples, but its run_end says 1280. Count the same samples in both",
        "block-1-optimized: its last evaluation is after 320 of 640 samples; evaluate at the end",
        "the runs report different values of batch in their config",
      ]
    `)
  })
})

test('updates may differ in a recipe experiment, samples may not', () => {
  const recipe = anExperiment({ kind: 'recipe' })
  expect(
    problemsOf(
      { attemptedUpdates: 20, steps: 20, warmUpSteps: 5, config: { batch: 512, recipe: { growth: 2 } } },
      recipe,
    ),
  ).toEqual([])
  expect(problemsOf({ samples: 320, reportedSamples: 320 }, recipe)).not.toEqual([])
})

describe('the held-out set', () => {
  const equalWork = (hashes: readonly (readonly [string, string])[]) => {
    const runs = hashes.flatMap((ofBlock, index) =>
      VARIANTS.map((variant, which) =>
        aRunSummary({ variant, block: index + 1, evaluationHash: ofBlock[which] ?? null }),
      ),
    )
    return checksOf(anExperiment(), runs).find(({ name }) => name === 'equal work')
  }

  test('may go by the seed of its block', () => {
    expect(
      equalWork([
        ['a', 'a'],
        ['b', 'b'],
      ])?.status,
    ).toBe('passed')
  })

  test('is that of both runs of a block, or the usual causes are named', () => {
    const check = equalWork([
      ['a', 'a'],
      ['b', 'c'],
    ])
    expect(check?.status).toBe('failed')
    expect(check?.detail).toMatch(/held-out set of block 2 differ: b \(baseline\) \/ c \(optimized\)/)
    expect(check?.detail).toMatch(/evaluation batch size.*at random.*fixed seed/)
  })
})

test('configs may differ under speed', () => {
  expect(problemsOf({ config: { batch: 512, speed: { fused: true } } })).toEqual([])
})

test('a seed in the config is no difference, and another number is one', () => {
  const equalWork = (key: (seed: number) => number) =>
    checksOf(
      anExperiment(),
      [1, 2].flatMap((seed) =>
        VARIANTS.map((variant) =>
          aRunSummary({
            variant,
            block: seed,
            seed,
            reportedSeed: seed,
            config: { random: { state: key(seed) } },
          }),
        ),
      ),
    ).find(({ name }) => name === 'equal work')
  expect(equalWork((seed) => seed)?.status).toBe('passed')
  expect(equalWork((seed) => seed + 1)).toMatchObject({
    status: 'failed',
    detail: expect.stringContaining('random'),
  })
})

test('the runs of one variant may differ in nothing, not even under speed', () => {
  const optimized = (block: number, fused: boolean) =>
    aRunSummary({ variant: 'optimized', block, config: { batch: 512, speed: { fused } } })
  const equalWork = (...fused: boolean[]) =>
    checksOf(
      anExperiment(),
      fused.flatMap((value, index) => [aRunSummary({ block: index + 1 }), optimized(index + 1, value)]),
    ).find(({ name }) => name === 'equal work')
  expect(equalWork(true, true, true)?.status).toBe('passed')
  expect(equalWork(true, false, false)).toMatchObject({
    status: 'failed',
    detail: expect.stringMatching(/^the optimized runs .*different values of speed\.fused .*out of it$/),
  })
})

test('other devices or versions are another machine', () => {
  expect(problemsOf({ deviceNames: ['NVIDIA H200', 'NVIDIA A100'] })).toMatchInlineSnapshot(`
    [
      "same machine failed: devices differ: NVIDIA H200, NVIDIA H200 (baseline) / NVIDIA H200, NVIDIA A100 (optimized)",
    ]
  `)
  expect(problemsOf({ versions: { python: '3.11.2', torch: '2.11.0' } })).toMatchInlineSnapshot(`
    [
      "same machine failed: versions differ: python 3.11.2, torch 2.15.0 (baseline) / python 3.11.2, torch 2.11.0 (optimized)",
    ]
  `)
  expect(problemsOf({ versions: { torch: '2.15.0', python: '3.11.2' } })).toEqual([])
})

describe('a steady state', () => {
  test('has at most half of the samples as warm-up', () => {
    expect(problemsOf({ warmUpSamples: 320 })).toEqual([])
    expect(problemsOf({ warmUpSamples: 321 })).toMatchInlineSnapshot(`
      [
        "steady state failed: block-1-optimized: the warm-up takes 321 of 640 samples (steps: 10 of 40). Train on at least 642 samples",
      ]
    `)
  })

  test('has ten steps at least that are timed, of a recipe with few large ones too', () => {
    const recipe = anExperiment({ kind: 'recipe' })
    expect(problemsOf({ warmUpSteps: 30, warmUpSamples: 64 }, recipe)).toEqual([])
    expect(problemsOf({ warmUpSteps: 31, warmUpSamples: 64 }, recipe)).toMatchInlineSnapshot(`
      [
        "steady state failed: block-1-optimized: 9 steps are left after 31 warm-up steps, expected at least 10. Make the run longer",
      ]
    `)
  })

  test('names the warm-up steps of each variant where a recipe has others', () => {
    const detailOf = (warmUpSteps: number) =>
      checksOf(anExperiment({ kind: 'recipe' }), [
        aRunSummary({ variant: 'baseline', warmUpSteps: 10 }),
        aRunSummary({ variant: 'optimized', warmUpSteps }),
      ]).find(({ name }) => name === 'steady state')?.detail
    expect(detailOf(10)).toBe('timed after 10 warm-up steps, the same for all runs')
    expect(detailOf(20)).toBe(
      'timed after the same samples in all runs, warm-up steps: 10 of the baseline, 20 of the optimized',
    )
  })

  test('has three whole periods at least, and little behind them', () => {
    expect(problemsOf({ periodSteps: 10, timedPeriods: 3 })).toEqual([])
    expect(problemsOf({ periodSteps: 15, timedPeriods: 2 })).toEqual([
      expect.stringMatching(
        /^steady state failed: block-1-optimized: 2 whole periods of 15 steps \(period_steps\).* longer: .*at least 3$/,
      ),
    ])
    expect(problemsOf({ periodSteps: 9, timedPeriods: 3, untimedSamples: 48 })).toEqual([])
    expect(problemsOf({ periodSteps: 7, timedPeriods: 4, untimedSamples: 49 })).toEqual([
      expect.stringMatching(
        /^steady state failed: block-1-optimized: 49 of 480 samples .*7 steps \(period_steps\).*not timed.* longer$/,
      ),
    ])
  })

  test('tells of its periods', () => {
    const detailOf = (...periods: number[]) =>
      checksOf(
        anExperiment(),
        periods.map((periodSteps, index) =>
          aRunSummary({ variant: VARIANTS[index] ?? 'baseline', periodSteps }),
        ),
      ).find(({ name }) => name === 'steady state')?.detail
    expect(detailOf(1, 1)).not.toContain('period')
    expect(detailOf(4, 4)).toMatch(/; in whole periods, steps: 4$/)
    expect(detailOf(1, 4)).toMatch(/; in whole periods, steps: 1 of the baseline, 4 of the optimized$/)
  })
})

describe('updates that a scaler skips', () => {
  test('are told, and few are no other work', () => {
    const runs = [aRunSummary({ skippedUpdates: 2 }), aRunSummary({ variant: 'optimized' })]
    const [equalWork] = checksOf(anExperiment(), runs)
    expect(equalWork).toMatchObject({
      status: 'passed',
      detail:
        '640 samples, 40 updates, 1000 parameters in every run; updates skipped by a run, at most: 2 of the baseline, 0 of the optimized; what a step computes is not read back',
    })
  })

  test.each(['same-work', 'recipe'] as const)('are no equal work beyond a tenth, in a %s', (kind) => {
    expect(problemsOf({ skippedUpdates: 4 }, anExperiment({ kind }))).toEqual([])
    expect(problemsOf({ skippedUpdates: 5 }, anExperiment({ kind }))).toEqual([
      expect.stringMatching(
        /^equal work failed: block-1-optimized: skipped 5 of 40 updates.*Train longer, .*overflow$/,
      ),
    ])
  })
})

test('what a run reports fits into the time that its process took', () => {
  const clocks = (difference: Partial<RunSummary>) => problemsOf(difference)[0] ?? 'agree'
  expect(clocks({ trainingSeconds: 60.5, metrics: { total_seconds: 61 } })).toContain(
    'reports 60.5 s of steps and 61.0 s in all. Its process took 60.0 s',
  )
  expect(clocks({ trainingSeconds: 6, metrics: { total_seconds: 5 } })).toContain(
    'reports 6.00 s of steps and 5.00 s in all',
  )
  expect(clocks({ metrics: { total_seconds: 61 } })).toContain('Its process took 60.0 s')
  expect(clocks({ successiveSeconds: 5.06 })).toContain(
    'reports 5.06 s of set-up, steps and evaluations, and 5.00 s in all. Count total_seconds from the start of the process',
  )
  expect(clocks({ successiveSeconds: 5.04 })).toBe('agree')
  expect(clocks({ longestPhaseSeconds: 60 })).toBe('agree')
  expect(clocks({ longestPhaseSeconds: 60.1 })).toMatch(/a phase of 60\.1 s.* took 60\.0 s/)
  expect(clocks({ accountedSeconds: 90 })).toBe('agree')
})

test('a long process is explained by what its run reports', () => {
  const clocks = (accountedSeconds: number, wallSeconds: number) =>
    problemsOf({ accountedSeconds, wallSeconds }).length
  expect(clocks(3.2, 60)).toBe(0)
  expect(clocks(40, 101)).toBe(1)
  expect(clocks(300, 601)).toBe(1)
  expect(clocks(301, 600)).toBe(0)
})

describe('versions of packages', () => {
  const newer = { versions: { python: '3.11.2', torch: '2.16.0' } }

  test('may differ between two revisions that have a lock each', () => {
    const { launch, variants } = anExperiment()
    const revisions = {
      launch: { ...launch, requirements: 'requirements.lock' },
      variants: { ...variants, baseline: { ...variants.baseline, revision: 'merge-base' } },
    }
    expect(problemsOf(newer, anExperiment(revisions))).toEqual([])
    expect(problemsOf(newer, anExperiment({ variants: revisions.variants }))).toHaveLength(1)
  })

  test('may not differ within a variant', () => {
    const { launch, variants } = anExperiment()
    const experiment = anExperiment({
      launch: { ...launch, requirements: 'requirements.lock' },
      variants: { ...variants, baseline: { ...variants.baseline, revision: 'merge-base' } },
    })
    const runs = [aRunSummary(), aRunSummary({ block: 2, ...newer })]
    expect(checksOf(experiment, runs).find(({ name }) => name === 'same machine')?.status).toBe('failed')
  })
})
