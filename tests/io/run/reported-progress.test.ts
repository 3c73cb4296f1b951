import { expect, it, vi } from 'vitest'
import type { LiveReport } from '../../../src/io/github/report/live-report.ts'
import type { Progress } from '../../../src/io/run/progress.ts'
import { ReportedProgress } from '../../../src/io/run/reported-progress.ts'
import { planRuns } from '../../../src/plan/plan.ts'
import { anExperiment } from '../../fixtures/builders.ts'

const VIEW: Progress = {
  runStarted() {},
  event() {},
  trainerLine() {},
  note() {},
  tick() {},
  runEnded() {},
}

it('counts no repeat among the planned launches', () => {
  const tell = vi.fn<LiveReport['tell']>()
  const plan = planRuns(anExperiment()).slice(0, 2)
  const progress = new ReportedProgress(VIEW, { tell }, plan)
  for (const run of plan) progress.runStarted(run)
  for (const run of plan) progress.runStarted({ ...run, id: `${run.id}-repeat`, repeats: run.id })
  expect(tell.mock.calls.map(([text]) => text.slice(0, 22))).toEqual([
    'launch 1 of at most 2,',
    ...Array(3).fill('launch 2 of at most 2,'),
  ])
})
