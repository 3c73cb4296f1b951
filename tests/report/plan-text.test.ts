// What `plan` prints before anything runs.
import { describe, expect, test } from 'vitest'
import { gatesFile } from '../../src/config/gates/gates.ts'
import { type PlannedRun, planRuns } from '../../src/plan/plan.ts'
import { renderPlan } from '../../src/report/plan-text.ts'
import { anExperiment, aPlannedRun, aRequest, aSource, theInputs, theRunFiles } from '../fixtures/builders.ts'

const experiment = anExperiment({ design: { blocks: 2, warm_up_launches: 1, seed: 0 } })
const request = aRequest({ experiment })
const places = { baseline: { python: 'python3' }, optimized: { python: 'python3' } }
const inputs = theInputs(request)
const plan = planRuns(experiment)
const folders = {
  runFiles: ({ id }: PlannedRun) => theRunFiles(`out/${id}`),
  allocationDirectory: (time: string) => `out/allocations/${time}`,
  agent: 'agent.py',
}
const NO_EARLIER = new Map<PlannedRun, number>()

test('says what warm-up launches alone have set', () => {
  const design = { ...experiment.design, warm_up_set: { 'train.updates': 20, 'optimizer.warmup_updates': 5 } }
  const text = (changed: typeof design) =>
    renderPlan(
      { request: aRequest({ experiment: anExperiment({ design: changed }) }), places, inputs },
      plan,
      folders,
      NO_EARLIER,
    )
  const said = 'Warm-up launches alone have train.updates: 20, optimizer.warmup_updates: 5.'
  expect(text(design)).toContain(said)
  expect(text({ ...design, warm_up_launches: 0 })).not.toContain('Warm-up launches')
})

test('has launches, differences, gates, commands and the time limit', () => {
  expect(renderPlan({ request, places, inputs }, plan, folders, NO_EARLIER)).toMatchInlineSnapshot(`
    "two-task: 6 launches on 2 processes

    | launch               | purpose  | variant   | seed | code         |
    | -------------------- | -------- | --------- | ---- | ------------ |
    | 01-warm-up-baseline  | warm-up  | baseline  | 0    | working tree |
    | 02-warm-up-optimized | warm-up  | optimized | 0    | working tree |
    | 03-block-1-baseline  | measured | baseline  | 1    | working tree |
    | 04-block-1-optimized | measured | optimized | 1    | working tree |
    | 05-block-2-optimized | measured | optimized | 2    | working tree |
    | 06-block-2-baseline  | measured | baseline  | 2    | working tree |

    Differences between the variants
      speed.fused: false -> true

    Gates
      speedup >= 3.00x (required): baseline / optimized seconds per sample in the steady state, mean of the paired ratios
      loss_delta < 0.00100 (required): optimized - baseline held-out loss at the end of training, mean of the paired differences

    Looks, with the confidence of each bound
    | after blocks | to pass | to fail |
    | ------------ | ------- | ------- |
    | 2            | 95%     | 95%     |

    Commands
      python3 -m torch.distributed.run --standalone --local-addr 127.0.0.1 --nproc-per-node 2 --log-dir out/01-warm-up-baseline/errors -m trainer train --config out/01-warm-up-baseline/config.json --out out/01-warm-up-baseline/trainer --seed 0
      python3 -m torch.distributed.run --standalone --local-addr 127.0.0.1 --nproc-per-node 2 --log-dir out/02-warm-up-optimized/errors -m trainer train --config out/02-warm-up-optimized/config.json --out out/02-warm-up-optimized/trainer --seed 0

    Time: no earlier result of two-task to estimate from; at most 6 h 00 min by its time limit, besides 2 h 00 min for the machine to be free and blocks that the machine disturbs, which are measured again"
  `)
})

test('says what a gate asks, and needs', () => {
  const gates = {
    nrmse_ratio: { at_most: 1.0034567 },
    nrmse_delta: { below: 0.01, evidence: 'point' },
    loss_ratio: { at_most: 0.03 },
    energy_ratio: { below: 1 },
    peak_memory_gb: { below: 79.96 },
    data_wait_share: { at_most: 0.0125 },
    cost_per_run: { at_most: 5 },
    rollout: { metric: 'evaluation.evaluation.nrmse', statistic: 'maximum', below: 0.01, severity: 'warn' },
  } as const
  const launch = { ...experiment.launch, price_per_gpu_hour: 3 }
  const withGates = anExperiment({ launch, gates: gatesFile.parse(gates) })
  const lines = renderPlan(
    { request: aRequest({ experiment: withGates }), places, inputs },
    plan,
    folders,
    NO_EARLIER,
  ).split('\n')
  expect(lines.slice(lines.indexOf('Gates') + 1, lines.indexOf('Gates') + 9)).toMatchInlineSnapshot(`
    [
      "  nrmse_ratio <= 1.0034567x (required): optimized / baseline held-out NRMSE at the end of training, mean of the paired ratios; at most 0.34567% above the baseline; needs metrics.nrmse in evaluation",
      "  nrmse_delta < 0.0100 (required): optimized - baseline held-out NRMSE at the end of training, mean of the paired differences; by its estimate alone; needs metrics.nrmse in evaluation",
      "  loss_ratio <= 0.0300x (required): optimized / baseline held-out loss at the end of training, mean of the paired ratios; at least 97% below the baseline",
      "  energy_ratio < 1.00x (required): optimized / baseline joules per sample of all GPUs together in the steady state, mean of the paired ratios; below the baseline; needs an NVIDIA GPU",
      "  peak_memory_gb < 79.96 GB (74.47 GiB) (required): peak GPU memory reserved by the allocator, the largest of all ranks and optimized runs; needs a GPU, and peak_memory_reserved_bytes in run_end",
      "  data_wait_share <= 1.25% (required): share of the step seconds that waited for data, the largest of all ranks and optimized runs; needs data_wait_seconds in steps",
      "  cost_per_run <= 5.00 (required): price of a run from launch to end, at 3 for an hour of a GPU, each process counted as one, the largest of all ranks and optimized runs",
      "  rollout < 0.0100 (warn): evaluation.evaluation.nrmse, the largest of all ranks and optimized runs; needs metrics.evaluation.nrmse in evaluation",
    ]
  `)
})

test('estimates the time from earlier launches', () => {
  const earlier = new Map([
    [aPlannedRun({ variant: 'baseline' }), 60],
    [aPlannedRun({ variant: 'optimized' }), 20],
  ])
  expect(
    renderPlan({ request, places, inputs }, plan, folders, earlier).split('\n').at(-1),
  ).toMatchInlineSnapshot(
    `"Time: about 4 min 00 s, from 2 earlier launches; at most 6 h 00 min by its time limit, besides 2 h 00 min for the machine to be free and blocks that the machine disturbs, which are measured again"`,
  )
})

describe('a budget that ends before the first look that can pass', () => {
  const earlier = new Map([
    [aPlannedRun({ variant: 'baseline' }), 60],
    [aPlannedRun({ variant: 'optimized' }), 20],
  ])
  const warningOf = (design: object, times: ReadonlyMap<PlannedRun, number> = earlier) => {
    const budgeted = anExperiment({ design: { blocks: [2, 4, 6, 8], warm_up_launches: 1, ...design } })
    const planned = { request: aRequest({ experiment: budgeted }), places, inputs }
    return renderPlan(planned, planRuns(budgeted), folders, times)
      .split('\n')
      .find((line) => line.startsWith('warning: design.gpu_minutes'))
  }

  // Five pairs of launches up to block 4, of 80 s each, on two processes.
  test('is a warning that names the look and what it takes', () => {
    expect(warningOf({ gpu_minutes: 13 })).toMatch(/is 13, .*after 4 blocks, takes about 13.3 GPU minutes/)
    expect(warningOf({ gpu_minutes: 1 })).toContain('after 4 blocks')
  })

  test.each<[string, object, ReadonlyMap<PlannedRun, number>?]>([
    ['is none where that look fits', { gpu_minutes: 13.4 }],
    ['is none without a budget', {}],
    ['is none where nothing is known of the launches', { gpu_minutes: 1 }, NO_EARLIER],
    ['is none where the first look can pass, which is always begun', { gpu_minutes: 1, blocks: [4, 6, 8] }],
    [
      'counts no warm-up launches that are shorter',
      { gpu_minutes: 11, warm_up_set: { 'train.updates': 20 } },
    ],
  ])('%s', (_, design, times) => {
    expect(warningOf(design, times)).toBeUndefined()
  })
})

test('adds the evaluation in the end, where there is one, to the launches that it estimates', () => {
  const earlier = new Map([[aPlannedRun({ variant: 'baseline' }), 60]])
  const trainer = { ...experiment.trainer, evaluate_command: 'evaluate' }
  const reevaluated = aRequest({ experiment: { ...experiment, trainer } })
  const time = renderPlan({ request: reevaluated, places, inputs }, plan.slice(0, 1), folders, earlier)
    .split('\n')
    .at(-1)
  expect(time).toMatch(
    /^Time: about 1 min 00 s, from 1 earlier launches, and the evaluation in the end; at most .* 1 h 00 min for the evaluation in the end and blocks/,
  )
})

test('names the rungs of a ladder, which it does not launch', () => {
  const rung = { set: { 'speed.fused': true }, needs: [], replaces: [] }
  const rungs = [
    { ...rung, name: 'fused' },
    { ...rung, name: 'bf16' },
  ]
  const laddered = { ...experiment, ladder: { set: {}, baseline_every: 4, rungs } }
  expect(
    renderPlan({ request: aRequest({ experiment: laddered }), places, inputs }, plan, folders, NO_EARLIER),
  ).toContain('\nRungs, which only `speedproof ladder` launches: fused, bf16\n')
})

test('says which revision each run uses, and with which interpreter', () => {
  const baseline = aSource({ ref: 'merge-base', revision: 'b'.repeat(40) })
  const sources = { baseline, optimized: aSource() }
  const ownPython = { ...places, baseline: { python: 'out/environments/1f/bin/python' } }
  const lines = renderPlan(
    { request: aRequest({ experiment, sources }), places: ownPython, inputs },
    plan,
    folders,
    NO_EARLIER,
  ).split('\n')
  expect(lines[4]).toBe('| 01-warm-up-baseline  | warm-up  | baseline  | 0    | bbbbbbbbbbbb (merge-base) |')
  expect(lines[5]).toBe('| 02-warm-up-optimized | warm-up  | optimized | 0    | working tree              |')
  expect(lines).toContain(`  revision: ${'b'.repeat(40)} (merge-base) -> ${aSource().revision}`)
  expect(lines).toContainEqual(expect.stringMatching(/^ {2}out\/environments\/1f\/bin\/python -m torch/))
})
