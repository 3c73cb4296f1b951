// What `plan` prints before anything runs.
import { expect, test } from 'vitest'
import { planRuns } from '../../src/plan/plan.ts'
import { renderPlan } from '../../src/report/plan-text.ts'
import { anExperiment, aPlannedRun, aRequest } from '../fixtures/builders.ts'

const experiment = anExperiment({ design: { blocks: 2, warm_up_launches: 1, seed: 0 } })
const request = aRequest({ experiment })
const plan = planRuns(experiment)
const folders = {
  runFiles: ({ id }: { id: string }) => ({
    configFile: `out/${id}/config.json`,
    outDirectory: `out/${id}`,
    errorDirectory: `out/${id}/errors`,
  }),
}

test('has launches, differences, gates, commands and the time limit', () => {
  expect(renderPlan(request, plan, folders, [])).toMatchInlineSnapshot(`
    "two-task: 6 launches on 2 processes

    | launch               | purpose  | variant   | seed |
    | -------------------- | -------- | --------- | ---- |
    | 01-warm-up-baseline  | warm-up  | baseline  | 0    |
    | 02-warm-up-optimized | warm-up  | optimized | 0    |
    | 03-block-1-baseline  | measured | baseline  | 1    |
    | 04-block-1-optimized | measured | optimized | 1    |
    | 05-block-2-optimized | measured | optimized | 2    |
    | 06-block-2-baseline  | measured | baseline  | 2    |

    Differences between the variants
      speed.fused: false -> true

    Gates
      speedup at least 3 (required)
      loss_delta below 0.001 (required)

    Commands
      python3 -m torch.distributed.run --standalone --nproc-per-node 2 --log-dir out/01-warm-up-baseline/errors -m trainer train --config out/01-warm-up-baseline/config.json --out out/01-warm-up-baseline --seed 0
      python3 -m torch.distributed.run --standalone --nproc-per-node 2 --log-dir out/02-warm-up-optimized/errors -m trainer train --config out/02-warm-up-optimized/config.json --out out/02-warm-up-optimized --seed 0

    Time: no earlier result of two-task to estimate from; at most 6 h 00 min by its time limit"
  `)
})

test('estimates the time from earlier launches', () => {
  const earlier = [
    { run: aPlannedRun({ variant: 'baseline' }), wallSeconds: 60 },
    { run: aPlannedRun({ variant: 'optimized' }), wallSeconds: 20 },
  ]
  expect(renderPlan(request, plan, folders, earlier).split('\n').at(-1)).toMatchInlineSnapshot(
    `"Time: about 4 min 00 s, from 2 earlier launches; at most 6 h 00 min by its time limit"`,
  )
})
