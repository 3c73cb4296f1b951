// When a plan ends early: asked of whole blocks and their repeats, never of half of one.
import { expect, test } from 'vitest'
import { Workspace } from '../../../src/io/folder/workspace.ts'
import { runAll } from '../../../src/io/run/run-all.ts'
import { standingOf } from '../../../src/judge/repeat.ts'
import type { Launched } from '../../../src/measure/outcome.ts'
import { planRuns, repeatOf } from '../../../src/plan/plan.ts'
import { anExperiment, aRequest, launchedPlan } from '../../fixtures/builders.ts'
import { aMachineRecord, aPreflight, aProcess } from '../../fixtures/machine/records.ts'
import { aFolder } from '../../fixtures/processes/launching.ts'

const experiment = anExperiment({ design: { blocks: 2, warm_up_launches: 1, seed: 0 } })
const DISTURBED = '03-block-1-baseline'
const WARM_UPS = ['01-warm-up-baseline', '02-warm-up-optimized']
const BLOCK_1 = [DISTURBED, '04-block-1-optimized', `${DISTURBED}-repeat`, '04-block-1-optimized-repeat']
const BLOCK_2 = ['05-block-2-optimized', '06-block-2-baseline']

/** A process that is not ours computed beside the first run of block 1; all launches are kept from before. */
async function replayed(
  isLost: (ids: readonly string[]) => boolean,
  isKept = (_: Launched) => true,
  isFit = () => true,
) {
  const launched = await launchedPlan(experiment)
  const repeats = launched.slice(2, 4).map(({ launch, outcome }) => {
    const run = repeatOf(outcome.run)
    return { launch: launch && { ...launch, runId: run.id }, outcome: { ...outcome, run } }
  })
  const shared = aMachineRecord({ processes: [aProcess(), aProcess({ pid: 77, is_ours: false })] })
  const kept = [...launched, ...repeats]
  const records = new Map(
    kept.map(({ outcome: { run } }) => [run.id, run.id === DISTURBED ? shared : aMachineRecord()]),
  )
  const made = (all: readonly Launched[]) =>
    all.flatMap(({ launch, outcome }) => (launch === null ? [] : [outcome.run.id]))
  const place = { workingDirectory: '.', python: 'python3' }
  const request = aRequest({ experiment })
  const ended = await runAll(
    {
      request,
      places: { baseline: place, optimized: place },
      configs: { 'warm-up': request.configs, measured: request.configs },
      workspace: new Workspace(await aFolder()),
      kept: kept.filter(isKept),
    },
    planRuns(experiment),
    {
      cancelled: new AbortController().signal,
      onStart: () => {},
      progress: { runStarted() {}, event() {}, trainerLine() {}, note() {}, tick() {}, runEnded() {} },
      machine: {
        recall: async () => {},
        watch: () => Promise.reject(new Error('nothing is launched')),
      },
      isFit,
      standing: (soFar) => standingOf(soFar, { preflight: aPreflight(), records }),
      earlyStop: (soFar) => (isLost(made(soFar)) ? 'incomparable' : null),
      isDecided: () => false,
      toReevaluate: () => [],
      save: async () => {},
    },
  )
  return { ...ended, made: made(ended.launched) }
}

const isOfBlock2 = ({ outcome: { run } }: Launched) => run.block === 2

test('what no further run can mend is asked once the repeats of a block are made', async () => {
  const asked: (readonly string[])[] = []
  const isLost = (ids: readonly string[]) => {
    asked.push(ids)
    return false
  }
  const { made, problem } = await replayed(isLost, (one) => !isOfBlock2(one))
  expect(asked).toEqual([[...WARM_UPS, ...BLOCK_1]])
  expect(made).toEqual([...WARM_UPS, ...BLOCK_1])
  expect(problem?.message).toBe('nothing is launched')
})

test('where it is so, the rest is not made, and says why', async () => {
  const { made, launched, problem } = await replayed(
    () => true,
    (one) => !isOfBlock2(one),
  )
  expect(problem).toBeNull()
  expect(made).toEqual([...WARM_UPS, ...BLOCK_1])
  expect(launched.slice(-2).map(({ outcome }) => outcome)).toMatchObject(
    BLOCK_2.map((id) => ({ run: { id }, status: 'not-run', reason: 'incomparable' })),
  )
})

test('what was made before stays, though nothing would be launched after it', async () => {
  const { made, problem } = await replayed(() => true)
  expect(problem).toBeNull()
  expect(made).toEqual([...WARM_UPS, ...BLOCK_1, ...BLOCK_2])
})

test('nothing is launched on a machine that is not fit any more', async () => {
  const { made, launched, problem } = await replayed(
    () => false,
    (one) => !isOfBlock2(one),
    () => false,
  )
  expect(problem).toBeNull()
  expect(made).toEqual([...WARM_UPS, ...BLOCK_1])
  expect(launched.slice(-2).map(({ outcome }) => outcome)).toMatchObject(
    BLOCK_2.map((id) => ({ run: { id }, status: 'not-run', reason: 'unfit' })),
  )
})
