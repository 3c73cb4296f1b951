// The table and the words of a report, as a reader gets them.
import { describe, expect, test } from 'vitest'
import { assess } from '../../src/assess.ts'
import type { Experiment } from '../../src/config/experiment.ts'
import { outcomeOf } from '../../src/measure/outcome.ts'
import type { PlannedRun } from '../../src/plan/plan.ts'
import { renderMarkdown, renderSections } from '../../src/report/markdown.ts'
import { renderTerminal } from '../../src/report/terminal.ts'
import {
  aLaunchRecord,
  anExperiment,
  aRequest,
  aResult,
  launchedPlan,
  type MetricsDifference,
} from '../fixtures/builders.ts'

const interval = { severity: 'required', evidence: 'interval' } as const
const MISSION: Experiment['gates'] = {
  speedup: { at_least: 3, ...interval },
  loss_delta: { below: 0.001, ...interval },
  nrmse_ratio: { at_most: 1.03, ...interval },
  peak_memory_gb: { below: 50, ...interval },
}

/** Runs that differ a little from seed to seed, as real ones do. */
const like =
  (optimizedSeconds: number) =>
  ({ variant, seed }: PlannedRun): MetricsDifference => ({
    stepSeconds: (variant === 'baseline' ? 0.08 : optimizedSeconds) * (1 + 0.001 * (seed % 3)),
    valLoss: 0.02 + 0.0001 * seed + (variant === 'baseline' ? 0 : 0.00001 * (seed % 2)),
    evaluation: { metrics: { nrmse: 0.1 + 0.001 * seed } },
    end: { peak_memory_reserved_bytes: [31.2e9, 30e9] },
  })

const mission = anExperiment({ gates: MISSION })

describe('a report in the terminal', () => {
  test('of a passed experiment', async () => {
    expect(renderTerminal(await aResult(mission, like(0.02)))).toMatchInlineSnapshot(`
      "two-task: baseline against optimized, which differ in
        speed.fused: false -> true

      | gate           | change   | 95% confidence bounds | limit     | verdict |
      | -------------- | -------- | --------------------- | --------- | ------- |
      | speedup        | 4.00x    | 4.00x to 4.00x        | >= 3.00x  | passed  |
      | loss_delta     | +5.00e-6 | -1.8e-6 to +1.18e-5   | < 0.00100 | passed  |
      | nrmse_ratio    | 1.00x    | 1.00x to 1.00x        | <= 1.03x  | passed  |
      | peak_memory_gb |          |                       | < 50.0 GB | passed  |

        speedup: baseline 5.01 ms/sample, optimized 1.25 ms/sample
        loss_delta: baseline 0.02025, optimized 0.02026
        nrmse_ratio: baseline 0.1025, optimized 0.1025
        peak_memory_gb: baseline 31.2 GB (29.1 GiB), optimized 31.2 GB (29.1 GiB)

        speedup: baseline / optimized seconds per sample in the steady state, mean of the paired ratios over 4 blocks. The whole interval clears the limit.
        loss_delta: optimized - baseline held-out loss at the end of training, mean of the paired differences over 4 blocks. The whole interval clears the limit. Minimal detectable effect: 9.52e-6 past the limit, in 80% of experiments. Equivalent too: the interval stays within the limit on both sides.
        nrmse_ratio: optimized / baseline held-out NRMSE at the end of training, mean of the paired ratios over 4 blocks. The whole interval clears the limit. Equivalent too: the interval stays within the limit on both sides.
        peak_memory_gb: peak GPU memory reserved by the allocator, the largest of all ranks and optimized runs over 4 blocks. The worst run clears the limit.

        Speedups: steady state 4.00x; process start to end 1.00x; time to the held-out loss that the baseline ends with: not measured, since 8 of 8 runs were evaluated only at the end. Evaluate during the training too.
        Fastest steps: had no step after the warm-up been slower than the fastest tenth of its run, the speedup would be 4.00x.
        Set-up: the optimized training takes longer to set up, and makes that up after 41 steps.

      Checks
        completion: passed, 10 of 10 launches finished
        equal work: passed, 640 samples, 40 updates, 1000 parameters in every run; what a step computes is not read back
        same code: passed, the trainer's sources are the same before and after every run
        same machine: passed, 2 x NVIDIA H200 in every run
        steady state: passed, timed after 10 warm-up steps, the same for all runs
        clocks: passed, the times that the runs report fit into the time that their processes took
        evaluation: not measured, not re-evaluated: trainer.evaluate_command is not set
        noise floor: not measured, none stored for this machine and training; measure one with --mode aa

      Machine
        GPUs: not measured, the machine was not checked
        compile caches: passed, no block has one cold and one warm run (warm)
        not measured: SM clock, slowed down by heat or hardware, at the power limit, hottest GPU, any kernel ran (saturates), power of all GPUs, energy per sample, peak memory allocated, allocation retries

      | GPUs                 | baseline           | optimized          |
      | -------------------- | ------------------ | ------------------ |
      | peak memory reserved | 31.2 GB (29.1 GiB) | 31.2 GB (29.1 GiB) |

      ✅ two-task passed on this host: 10 of 10 launches finished with equal work; required gates passed: speedup, loss_delta, nrmse_ratio, peak_memory_gb"
    `)
  })

  test('of a failed one', async () => {
    expect(renderTerminal(await aResult(anExperiment(), like(0.04)))).toMatchInlineSnapshot(`
      "two-task: baseline against optimized, which differ in
        speed.fused: false -> true

      | gate       | change   | 95% confidence bounds | limit     | verdict |
      | ---------- | -------- | --------------------- | --------- | ------- |
      | speedup    | 2.00x    | 2.00x to 2.00x        | >= 3.00x  | failed  |
      | loss_delta | +5.00e-6 | -1.8e-6 to +1.18e-5   | < 0.00100 | passed  |

        speedup: baseline 5.01 ms/sample, optimized 2.50 ms/sample
        loss_delta: baseline 0.02025, optimized 0.02026

        speedup: baseline / optimized seconds per sample in the steady state, mean of the paired ratios over 4 blocks. The whole interval misses the limit after 4 blocks.
        loss_delta: optimized - baseline held-out loss at the end of training, mean of the paired differences over 4 blocks. The whole interval clears the limit. Minimal detectable effect: 9.52e-6 past the limit, in 80% of experiments. Equivalent too: the interval stays within the limit on both sides.

        Speedups: steady state 2.00x; process start to end 1.00x; time to the held-out loss that the baseline ends with: not measured, since 8 of 8 runs were evaluated only at the end. Evaluate during the training too.
        Fastest steps: had no step after the warm-up been slower than the fastest tenth of its run, the speedup would be 2.00x.
        Set-up: the optimized training takes longer to set up, and makes that up after 40 steps.

      Checks
        completion: passed, 10 of 10 launches finished
        equal work: passed, 640 samples, 40 updates, 1000 parameters in every run; what a step computes is not read back
        same code: passed, the trainer's sources are the same before and after every run
        same machine: passed, 2 x NVIDIA H200 in every run
        steady state: passed, timed after 10 warm-up steps, the same for all runs
        clocks: passed, the times that the runs report fit into the time that their processes took
        evaluation: not measured, not re-evaluated: trainer.evaluate_command is not set
        noise floor: not measured, none stored for this machine and training; measure one with --mode aa

      Machine
        GPUs: not measured, the machine was not checked
        compile caches: passed, no block has one cold and one warm run (warm)
        not measured: SM clock, slowed down by heat or hardware, at the power limit, hottest GPU, any kernel ran (saturates), power of all GPUs, energy per sample, peak memory allocated, allocation retries

      | GPUs                 | baseline           | optimized          |
      | -------------------- | ------------------ | ------------------ |
      | peak memory reserved | 31.2 GB (29.1 GiB) | 31.2 GB (29.1 GiB) |

      ❌ two-task failed on this host: speedup failed: the whole interval misses the limit after 4 blocks"
    `)
  })

  test('of an inconclusive one', async () => {
    const spanning = (run: PlannedRun) => like(run.seed % 2 ? 0.024 : 0.029)(run)
    expect(renderTerminal(await aResult(anExperiment(), spanning))).toMatchInlineSnapshot(`
      "two-task: baseline against optimized, which differ in
        speed.fused: false -> true

      | gate       | change   | 95% confidence bounds | limit     | verdict      |
      | ---------- | -------- | --------------------- | --------- | ------------ |
      | speedup    | 3.03x    | 2.66x to 3.45x        | >= 3.00x  | inconclusive |
      | loss_delta | +5.00e-6 | -1.8e-6 to +1.18e-5   | < 0.00100 | passed       |

        speedup: baseline 5.01 ms/sample, optimized 1.65 ms/sample
        loss_delta: baseline 0.02025, optimized 0.02026

        speedup: baseline / optimized seconds per sample in the steady state, mean of the paired ratios over 4 blocks. The interval spans the limit after 4 blocks. Minimal detectable effect: 20% past the limit, in 80% of experiments. At least 10 blocks are needed at this scatter.
        loss_delta: optimized - baseline held-out loss at the end of training, mean of the paired differences over 4 blocks. The whole interval clears the limit. Minimal detectable effect: 9.52e-6 past the limit, in 80% of experiments. Equivalent too: the interval stays within the limit on both sides.

        Speedups: steady state 3.03x; process start to end 1.00x; time to the held-out loss that the baseline ends with: not measured, since 8 of 8 runs were evaluated only at the end. Evaluate during the training too.
        Fastest steps: had no step after the warm-up been slower than the fastest tenth of its run, the speedup would be 3.03x (2.66x to 3.45x).
        Set-up: the optimized training takes longer to set up, and makes that up after 40 steps.

      Checks
        completion: passed, 10 of 10 launches finished
        equal work: passed, 640 samples, 40 updates, 1000 parameters in every run; what a step computes is not read back
        same code: passed, the trainer's sources are the same before and after every run
        same machine: passed, 2 x NVIDIA H200 in every run
        steady state: passed, timed after 10 warm-up steps, the same for all runs
        clocks: passed, the times that the runs report fit into the time that their processes took
        evaluation: not measured, not re-evaluated: trainer.evaluate_command is not set
        noise floor: not measured, none stored for this machine and training; measure one with --mode aa

      Machine
        GPUs: not measured, the machine was not checked
        compile caches: passed, no block has one cold and one warm run (warm)
        not measured: SM clock, slowed down by heat or hardware, at the power limit, hottest GPU, any kernel ran (saturates), power of all GPUs, energy per sample, peak memory allocated, allocation retries

      | GPUs                 | baseline           | optimized          |
      | -------------------- | ------------------ | ------------------ |
      | peak memory reserved | 31.2 GB (29.1 GiB) | 31.2 GB (29.1 GiB) |

      ❓ two-task inconclusive on this host: speedup inconclusive: the interval spans the limit after 4 blocks"
    `)
  })

  test('of one without the numbers that its gates need', async () => {
    expect(renderTerminal(await aResult(mission, () => ({ stepSeconds: 0.02 })))).toMatchInlineSnapshot(`
      "two-task: baseline against optimized, which differ in
        speed.fused: false -> true

      | gate           | change | 95% confidence bounds | limit     | verdict      |
      | -------------- | ------ | --------------------- | --------- | ------------ |
      | speedup        | 1.00x  | 1.00x to 1.00x        | >= 3.00x  | failed       |
      | loss_delta     | +0     | +0 to +0              | < 0.00100 | passed       |
      | nrmse_ratio    |        |                       | <= 1.03x  | not measured |
      | peak_memory_gb |        |                       | < 50.0 GB | not measured |

        speedup: baseline 1.25 ms/sample, optimized 1.25 ms/sample
        loss_delta: baseline 0.02000, optimized 0.02000
        nrmse_ratio: baseline not measured, optimized not measured
        peak_memory_gb: baseline not measured, optimized not measured

        speedup: baseline / optimized seconds per sample in the steady state, mean of the paired ratios over 4 blocks. The whole interval misses the limit after 4 blocks.
        loss_delta: optimized - baseline held-out loss at the end of training, mean of the paired differences over 4 blocks. The whole interval clears the limit. Equivalent too: the interval stays within the limit on both sides.
        nrmse_ratio: optimized / baseline held-out NRMSE at the end of training, mean of the paired ratios. Not every run reported a usable evaluation.nrmse; all reported val_loss.
        peak_memory_gb: peak GPU memory reserved by the allocator, the largest of all ranks and optimized runs. Not every run reported a usable peak_memory_reserved_bytes.

        Speedups: steady state 1.00x; process start to end 1.00x; time to the held-out loss that the baseline ends with: not measured, since 8 of 8 runs were evaluated only at the end. Evaluate during the training too.
        Fastest steps: had no step after the warm-up been slower than the fastest tenth of its run, the speedup would be 1.00x.
        Set-up: the optimized training takes no longer to set up than the baseline.

      Checks
        completion: passed, 10 of 10 launches finished
        equal work: passed, 640 samples, 40 updates, 1000 parameters in every run; what a step computes is not read back
        same code: passed, the trainer's sources are the same before and after every run
        same machine: passed, 2 x NVIDIA H200 in every run
        steady state: passed, timed after 10 warm-up steps, the same for all runs
        clocks: passed, the times that the runs report fit into the time that their processes took
        evaluation: not measured, not re-evaluated: trainer.evaluate_command is not set
        noise floor: not measured, none stored for this machine and training; measure one with --mode aa

      Machine
        GPUs: not measured, the machine was not checked
        compile caches: passed, no block has one cold and one warm run (warm)
        not measured: SM clock, slowed down by heat or hardware, at the power limit, hottest GPU, any kernel ran (saturates), power of all GPUs, energy per sample, peak memory reserved, peak memory allocated, allocation retries

      ❌ two-task failed on this host: speedup failed: the whole interval misses the limit after 4 blocks"
    `)
  })

  test('of gates that only warn, inform, or accept an estimate', async () => {
    const gates: Experiment['gates'] = {
      speedup: { at_least: 3, severity: 'warn', evidence: 'point' },
      loss_delta: { below: 0.01, severity: 'info', evidence: 'point' },
      growth: { metric: 'peak_memory_reserved_bytes', statistic: 'difference', below: 2, ...interval },
      worst_loss: { metric: 'val_loss', statistic: 'maximum', below: 0.5, ...interval },
    }
    const one = anExperiment({ gates, design: { blocks: 1, warm_up_launches: 0, seed: 0 } })
    expect(renderTerminal(await aResult(one, like(0.04)))).toMatchInlineSnapshot(`
      "two-task: baseline against optimized, which differ in
        speed.fused: false -> true

      | gate       | change   | 95% confidence bounds | limit     | verdict            |
      | ---------- | -------- | --------------------- | --------- | ------------------ |
      | speedup    | 2.00x    | none                  | >= 3.00x  | not reached (warn) |
      | loss_delta | +1.00e-5 | none                  | < 0.0100  | open (info)        |
      | growth     | +0 GB    | none                  | < 2.00 GB | inconclusive       |
      | worst_loss |          |                       | < 0.5000  | passed             |

        speedup: baseline 5.01 ms/sample, optimized 2.50 ms/sample
        loss_delta: baseline 0.02010, optimized 0.02011
        growth: baseline 31.2 GB (29.1 GiB), optimized 31.2 GB (29.1 GiB)
        worst_loss: baseline 0.02010, optimized 0.02011

        speedup: baseline / optimized seconds per sample in the steady state, mean of the paired ratios over 1 block. By its point estimate alone (evidence: point), over 1 block. Minimal detectable effect: unknown without an interval.
        loss_delta: optimized - baseline held-out loss at the end of training, mean of the paired differences over 1 block. By its point estimate alone (evidence: point), over 1 block; with so few seeds, chance decides near the limit, but the limit is over 10% of the baseline's val_loss: a ratio gate (such as nrmse_ratio) has to pass as well, with a limit of at most 1.1x. Minimal detectable effect: unknown without an interval.
        growth: optimized - baseline peak GPU memory reserved by the allocator, mean of the paired differences over 1 block. No valid interval from 1 block; use at least 2 blocks, or accept the estimate with evidence: point. Minimal detectable effect: unknown without an interval.
        worst_loss: held-out loss at the end of training, the largest of all ranks and optimized runs over 1 block. The worst run clears the limit.

        Speedups: steady state 2.00x; process start to end 1.00x; time to the held-out loss that the baseline ends with: not measured, since 2 of 2 runs were evaluated only at the end. Evaluate during the training too.
        Fastest steps: had no step after the warm-up been slower than the fastest tenth of its run, the speedup would be 2.00x.
        Set-up: the optimized training takes longer to set up, and makes that up after 41 steps.

      Checks
        completion: passed, 2 of 2 launches finished
        equal work: passed, 640 samples, 40 updates, 1000 parameters in every run; what a step computes is not read back
        same code: passed, the trainer's sources are the same before and after every run
        same machine: passed, 2 x NVIDIA H200 in every run
        steady state: passed, timed after 10 warm-up steps, the same for all runs
        clocks: passed, the times that the runs report fit into the time that their processes took
        evaluation: not measured, not re-evaluated: trainer.evaluate_command is not set
        noise floor: not measured, none stored for this machine and training; measure one with --mode aa

      Machine
        GPUs: not measured, the machine was not checked
        compile caches: passed, no block has one cold and one warm run (warm)
        not measured: SM clock, slowed down by heat or hardware, at the power limit, hottest GPU, any kernel ran (saturates), power of all GPUs, energy per sample, peak memory allocated, allocation retries

      | GPUs                 | baseline           | optimized          |
      | -------------------- | ------------------ | ------------------ |
      | peak memory reserved | 31.2 GB (29.1 GiB) | 31.2 GB (29.1 GiB) |

      warning: speedup failed: by its point estimate alone (evidence: point), over 1 block
      ❓ two-task inconclusive on this host: growth inconclusive: no valid interval from 1 block; use at least 2 blocks, or accept the estimate with evidence: point"
    `)
  })
})

describe('a limit that is too wide to decide alone', () => {
  const shownWith = async (difference: number) =>
    renderTerminal(
      await aResult(
        anExperiment({ gates: { loss_delta: { below: 0.001, ...interval } } }),
        ({ seed, variant }) => ({
          valLoss: 0.005 + 0.0001 * seed + (variant === 'baseline' ? 0 : difference * (seed % 2)),
        }),
      ),
    )

  test('is not said to take more blocks where its own interval clears it', async () => {
    const shown = await shownWith(0.00001)
    expect(shown).toContain(
      'a ratio gate (such as nrmse_ratio) has to pass as well, with a limit of at most 1.1x and severity: required. Minimal',
    )
    expect(shown).not.toContain('would decide it')
  })

  test('is said to take more where its own interval spans it', async () => {
    expect(await shownWith(0.0015)).toContain('would decide it at this scatter')
  })
})

test('a limit is shown as it is, and no bound on the wrong side of it', async () => {
  const loss_delta = { below: 0.001, ...interval }
  const gates = {
    speedup: { at_least: 3.996, ...interval },
    loss_ratio: { at_most: 1.005, ...interval },
    loss_delta,
  }
  const shown = renderTerminal(await aResult(anExperiment({ gates }), like(0.02)))
  expect(shown).toMatch(/4\.000x to 4\.000x +\| >= 3\.996x/)
  expect(shown).toMatch(/\| loss_ratio .* to 1\.0006x +\| <= 1\.005x +\| passed/) // not 1.01x, nor 1.00x
  expect(shown).toMatch(/\| loss_delta .* < 0\.00100 /)
})

describe('a report in Markdown', () => {
  test('has everything, the verdict first', async () => {
    const experiment = anExperiment({ design: { blocks: 3, warm_up_launches: 1, seed: 0 } })
    expect(renderMarkdown(await aResult(experiment, like(0.02)))).toMatchInlineSnapshot(`
      "## ✅ Speedproof: two-task passed on this host

      **Why:** 8 of 8 launches finished with equal work; required gates passed: speedup, loss&#95;delta ([how a verdict is made](https://github.com/speedproof/speedproof/blob/main/docs/verdict.md#the-four-verdicts))

      | gate         | baseline       | optimized      | change   | 95% confidence bounds | limit     | verdict |
      | ------------ | -------------- | -------------- | -------- | --------------------- | --------- | ------- |
      | ✅ speedup    | 5.01 ms/sample | 1.25 ms/sample | 4.00x    | 4.00x to 4.00x        | >= 3.00x  | passed  |
      | ✅ loss_delta | 0.02020        | 0.02021        | +6.67e-6 | -3.1e-6 to +1.64e-5   | < 0.00100 | passed  |

      - Whole runs, with set-up and evaluations, are 1.00x as fast. At the fastest steps of each run, the speedup is 4.00x.

      <details><summary>What each number means, and other evidence</summary>

      - **Confidence bounds** are one-sided. With the confidence in the head of the table, the true value is not below the lower bound, or not above the upper one.
      - **speedup** ([rule](https://github.com/speedproof/speedproof/blob/main/docs/statistics.md#one-number-per-block)): baseline / optimized seconds per sample in the steady state, mean of the paired ratios over 3 blocks. The whole interval clears the limit.
      - **loss_delta** ([rule](https://github.com/speedproof/speedproof/blob/main/docs/statistics.md#non-inferiority-of-held-out-numbers)): optimized - baseline held-out loss at the end of training, mean of the paired differences over 3 blocks. The whole interval clears the limit. Minimal detectable effect: 1.33e-5 past the limit, in 80% of experiments. Equivalent too: the interval stays within the limit on both sides.
      - Speedups: steady state 4.00x; process start to end 1.00x; time to the held-out loss that the baseline ends with: not measured, since 6 of 6 runs were evaluated only at the end. Evaluate during the training too.
      - Fastest steps: had no step after the warm-up been slower than the fastest tenth of its run, the speedup would be 4.00x.
      - Set-up: the optimized training takes longer to set up, and makes that up after 40 steps.
      - [The evidence outside the gates](https://github.com/speedproof/speedproof/blob/main/docs/verdict.md#shown-for-information-only) decides nothing.

      </details>

      <details><summary>Curves of training loss and time per sample</summary>

      **Time per sample after the warm-up steps, by samples seen** (grey: baseline, green: optimized; means over the measured runs)

      \`\`\`mermaid
      %%{init: {"themeVariables": {"xyChart": {"plotColorPalette": "#9a9a9a, #2da44e"}}}}%%
      xychart-beta
        x-axis "samples seen" 180 --> 640
        y-axis "us per sample" 0 --> 5193
        line [5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005, 5005]
        line [1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251, 1251]
      \`\`\`

      | samples seen | baseline | optimized |
      | ------------ | -------- | --------- |
      | 240          | 5.01 ms  | 1.25 ms   |
      | 340          | 5.01 ms  | 1.25 ms   |
      | 440          | 5.01 ms  | 1.25 ms   |
      | 540          | 5.01 ms  | 1.25 ms   |
      | 640          | 5.01 ms  | 1.25 ms   |

      </details>

      <details><summary>Checks of comparability: 6 passed, 2 not measured</summary>

      | check        | state        | detail                                                                                       |
      | ------------ | ------------ | -------------------------------------------------------------------------------------------- |
      | completion   | passed       | 8 of 8 launches finished                                                                     |
      | equal work   | passed       | 640 samples, 40 updates, 1000 parameters in every run; what a step computes is not read back |
      | same code    | passed       | the trainer&#39;s sources are the same before and after every run                            |
      | same machine | passed       | 2 x NVIDIA H200 in every run                                                                 |
      | steady state | passed       | timed after 10 warm-up steps, the same for all runs                                          |
      | clocks       | passed       | the times that the runs report fit into the time that their processes took                   |
      | evaluation   | not measured | not re-evaluated: trainer.evaluate&#95;command is not set                                    |
      | noise floor  | not measured | none stored for this machine and training; measure one with --mode aa                        |

      [What each check asks](https://github.com/speedproof/speedproof/blob/main/docs/verdict.md#checks)

      </details>

      <details><summary>Machine: 1 not measured, 1 passed</summary>

      | check          | state        | detail                                        |
      | -------------- | ------------ | --------------------------------------------- |
      | GPUs           | not measured | the machine was not checked                   |
      | compile caches | passed       | no block has one cold and one warm run (warm) |

      | GPUs                 | baseline           | optimized          |
      | -------------------- | ------------------ | ------------------ |
      | peak memory reserved | 31.2 GB (29.1 GiB) | 31.2 GB (29.1 GiB) |

      Not measured: SM clock, slowed down by heat or hardware, at the power limit, hottest GPU, any kernel ran (saturates), power of all GPUs, energy per sample, peak memory allocated, allocation retries.

      [What each check asks](https://github.com/speedproof/speedproof/blob/main/docs/verdict.md#checks)

      </details>

      <details><summary>All launches: 8 finished</summary>

      | launch             | seed | status   | per sample | median step | data wait    | held-out loss | skipped updates | compile cache | set-up | wall       |
      | ------------------ | ---- | -------- | ---------- | ----------- | ------------ | ------------- | --------------- | ------------- | ------ | ---------- |
      | warm-up, baseline  | 0    | finished | 5.00 ms    | 80.0 ms     | not measured | 0.020000      | 0               | warm          | 0 s    | 1 min 00 s |
      | warm-up, optimized | 0    | finished | 1.25 ms    | 20.0 ms     | not measured | 0.020000      | 0               | warm          | 0 s    | 1 min 00 s |
      | block 1, baseline  | 1    | finished | 5.01 ms    | 80.1 ms     | not measured | 0.020100      | 0               | warm          | 0 s    | 1 min 00 s |
      | block 1, optimized | 1    | finished | 1.25 ms    | 20.0 ms     | not measured | 0.020110      | 0               | warm          | 0 s    | 1 min 00 s |
      | block 2, optimized | 2    | finished | 1.25 ms    | 20.0 ms     | not measured | 0.020200      | 0               | warm          | 0 s    | 1 min 00 s |
      | block 2, baseline  | 2    | finished | 5.01 ms    | 80.2 ms     | not measured | 0.020200      | 0               | warm          | 0 s    | 1 min 00 s |
      | block 3, baseline  | 3    | finished | 5.00 ms    | 80.0 ms     | not measured | 0.020300      | 0               | warm          | 0 s    | 1 min 00 s |
      | block 3, optimized | 3    | finished | 1.25 ms    | 20.0 ms     | not measured | 0.020310      | 0               | warm          | 0 s    | 1 min 00 s |

      </details>

      <details><summary>What differs between the variants: 1 setting</summary>

      | setting          | baseline | optimized |
      | ---------------- | -------- | --------- |
      | speed.fused      | false    | true      |
      | effective: fused | false    | true      |

      </details>

      <details><summary>Where the numbers come from: all reported by the training</summary>

      Reported: step seconds, samples, held-out loss, held-out set, training data, config, seed, number of processes, parameters, peak memory, effective settings. Format of the metrics: speedproof.

      [What each of these may decide](https://github.com/speedproof/speedproof/blob/main/docs/formats.md#where-the-numbers-come-from)

      </details>

      <details><summary>Environment: devices, versions, revision</summary>

      | what     | value                                    |
      | -------- | ---------------------------------------- |
      | devices  | 2 x NVIDIA H200                          |
      | python   | 3.11.2                                   |
      | torch    | 2.15.0                                   |
      | revision | 0123456789012345678901234567890123456789 |
      | measured | 2026-11-20T12:00:00.000Z                 |

      </details>

      <details><summary>Commands that repeat it</summary>

      \`\`\`sh
      git checkout 0123456789012345678901234567890123456789
      speedproof run two-task.yaml
      speedproof analyze out/result.json # the verdict again, from the recorded metrics
      \`\`\`

      </details>
      "
    `)
  })

  test('lists a launch that failed, one that was cancelled and one that was not run', async () => {
    const experiment = anExperiment({ design: { blocks: 2, warm_up_launches: 0, seed: 0 } })
    const errors = [{ rank: 1, cause: 'out-of-memory', message: 'CUDA out of memory', step: 7 }] as const
    const records = [
      aLaunchRecord(),
      aLaunchRecord({ errors }, { status: 'exited', exitCode: 1, wallSeconds: 12 }),
      aLaunchRecord({}, { status: 'cancelled', wallSeconds: 3.2 }),
      null,
    ]
    const launched = (await launchedPlan(experiment)).map((one, index) => {
      const launch = records[index] ?? null
      return index === 0 ? one : { launch, outcome: outcomeOf(one.outcome.run, launch, null) }
    })
    const sections = renderSections(assess(aRequest({ experiment }), launched))
    expect(sections.find(({ title }) => title === 'all launches')?.markdown).toMatchInlineSnapshot(`
      "<details><summary>All launches: 1 finished, 1 failed, 1 cancelled, 1 not run</summary>

      | launch             | seed | status                                                    | per sample | median step | data wait    | held-out loss | skipped updates | compile cache | set-up | wall       |
      | ------------------ | ---- | --------------------------------------------------------- | ---------- | ----------- | ------------ | ------------- | --------------- | ------------- | ------ | ---------- |
      | block 1, baseline  | 1    | finished                                                  | 5.00 ms    | 80.0 ms     | not measured | 0.020000      | 0               | warm          | 0 s    | 1 min 00 s |
      | block 1, optimized | 1    | failed: out-of-memory, rank 1, step 7: CUDA out of memory |            |             |              |               |                 | warm          |        | 12 s       |
      | block 2, optimized | 2    | cancelled                                                 |            |             |              |               |                 | warm          |        | 3 s        |
      | block 2, baseline  | 2    | not run: stopped before it                                |            |             |              |               |                 |               |        |            |

      </details>"
    `)
    expect(sections[0]?.markdown).toMatchInlineSnapshot(`
      "## ❌ Speedproof: two-task failed on this host

      **Why:** 1 of 4 launches finished; 02-block-1-optimized: out-of-memory (rank 1, step 7: CUDA out of memory) ([how a verdict is made](https://github.com/speedproof/speedproof/blob/main/docs/verdict.md#the-four-verdicts))"
    `)
  })

  test('is there without a single launch', () => {
    const markdown = renderMarkdown(assess(aRequest({ revision: null }), []))
    expect(markdown).toContain('## ❓ Speedproof: two-task inconclusive')
    expect(markdown).not.toMatch(/undefined|null|NaN/)
  })
})
