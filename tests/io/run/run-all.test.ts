// The loop does what nextStep says, launch by launch: it keeps, repeats, evaluates and saves, and says why it stopped.
import { expect, test, vi } from 'vitest'
import { assess } from '../../../src/assess.ts'
import { localEngine } from '../../../src/io/engine/local.ts'
import { Workspace } from '../../../src/io/folder/workspace.ts'
import { launchRun } from '../../../src/io/run/launch-run.ts'
import { reevaluate } from '../../../src/io/run/reevaluate.ts'
import { runAll } from '../../../src/io/run/run-all.ts'
import type { MachineRecord } from '../../../src/measure/machine-record.ts'
import type { Launched } from '../../../src/measure/outcome.ts'
import { summarizeRuns } from '../../../src/measure/summary.ts'
import { planRuns, repeatOf } from '../../../src/plan/plan.ts'
import type { Result } from '../../../src/record/result.ts'
import { aLaunchRecord, anExperiment, aRequest, launchedPlan, theInputs } from '../../fixtures/builders.ts'
import { aMachineRecord, aPreflight, aProcess, filledBySteps } from '../../fixtures/machine/records.ts'

vi.mock('../../../src/io/run/launch-run.ts', () => ({ launchRun: vi.fn() }))
vi.mock('../../../src/io/run/reevaluate.ts', () => ({ reevaluate: vi.fn() }))
vi.mock('../../../src/measure/summary.ts', async (original) => {
  const summary = await original<typeof import('../../../src/measure/summary.ts')>()
  return { ...summary, summarizeRuns: vi.fn(summary.summarizeRuns) }
})

const EXPERIMENT = anExperiment({ design: { blocks: 2, warm_up_launches: 1, seed: 0 } })
const ALL = await launchedPlan(EXPERIMENT)
const DISTURBED = '03-block-1-baseline'
const WARM_UPS = ['01-warm-up-baseline', '02-warm-up-optimized']
const BLOCK_1 = [DISTURBED, '04-block-1-optimized']
const REPEATS = BLOCK_1.map((id) => `${id}-repeat`)
const BLOCK_2 = ['05-block-2-optimized', '06-block-2-baseline']
/** A process that is not ours computed beside the first run of block 1. */
const shared = aMachineRecord({ processes: [aProcess(), aProcess({ pid: 77, is_ours: false })] })

class SavingNothing extends Workspace {
  readonly saved: Result[] = []

  override async save(result: Result): Promise<void> {
    this.saved.push(result)
  }
}

interface Scene {
  readonly experiment?: typeof EXPERIMENT
  /** What would be launched. */
  readonly launches?: readonly Launched[]
  readonly kept?: readonly Launched[]
  readonly records?: Readonly<Record<string, MachineRecord>>
  readonly isFit?: boolean
  readonly workspace?: SavingNothing
}

async function runScene(scene: Scene) {
  const { experiment = EXPERIMENT, launches = ALL, kept = [], records = {}, isFit = true } = scene
  const { workspace = new SavingNothing('nowhere') } = scene
  const canned = [...launches, ...launches.map(repeated)]
  vi.mocked(launchRun).mockImplementation(async (run) => {
    const launched = canned.find(({ outcome }) => outcome.run.id === run.id)
    if (launched === undefined) throw new Error(`${run.id} is not among the launches`)
    return launched
  })
  const lock = { status: 'lost', waitedSeconds: 0, waitedFor: null, reason: 'taken away' } as const
  const preflight = isFit ? aPreflight() : aPreflight({ lock })
  const seen = { preflight, records: new Map<string, readonly MachineRecord[]>() }
  const place = { workingDirectory: '.', python: 'python3' }
  const request = aRequest({ experiment })
  const inputs = theInputs(request)
  vi.mocked(launchRun).mockClear()
  vi.mocked(summarizeRuns).mockClear()
  const { result, problem } = await runAll(
    { request, places: { baseline: place, optimized: place }, inputs, workspace, kept, data: null },
    planRuns(experiment),
    {
      cancelled: new AbortController().signal,
      onStart: () => {},
      progress: { runStarted() {}, event() {}, trainerLine() {}, note() {}, tick() {}, runEnded() {} },
      machine: {
        seen,
        recall: async (id) => void seen.records.set(id, [records[id] ?? filledBySteps(id)]),
        watch: () => Promise.reject(new Error('nothing is launched')),
      },
      engine: localEngine({ workingDirectory: '.', environment: {} }),
      assess,
    },
  )
  const launched = vi.mocked(launchRun).mock.calls.map(([run]) => run.id)
  return { result, problem, launched, saved: workspace.saved }
}

function repeated({ launch, outcome }: Launched): Launched {
  const run = repeatOf(outcome.run)
  return { launch: launch && { ...launch, runId: run.id }, outcome: { ...outcome, run } }
}

const made = ({ launches }: Result) => launches.map(({ runId }) => runId)
const notRun = ({ outcomes }: Result) =>
  outcomes.flatMap(({ run, status, reason }) => (status === 'not-run' ? [`${run.id}: ${reason}`] : []))

test('launches the plan in its order, and saves after each launch', async () => {
  const { result, problem, launched, saved } = await runScene({})
  const order = [...WARM_UPS, ...BLOCK_1, ...BLOCK_2]
  expect(problem).toBeNull()
  expect(launched).toEqual(order)
  expect(saved.slice(0, 6).map(made)).toEqual(order.map((_, index) => order.slice(0, index + 1)))
  expect(notRun(saved[4] as Result)).toEqual(['06-block-2-baseline: stopped'])
  expect(saved.at(-1)).toBe(result)
  expect(notRun(result)).toEqual([])
})

test('repeats a disturbed block before it asks whether the next can help', async () => {
  const launches = await launchedPlan(EXPERIMENT, ({ block }) => ({ start: block === 1 ? { seed: 99 } : {} }))
  const { result, launched } = await runScene({ launches, records: { [DISTURBED]: shared } })
  expect(launched).toEqual([...WARM_UPS, ...BLOCK_1, ...REPEATS])
  const setAside = result.outcomes.filter((outcome) => outcome.setAside !== null)
  expect(setAside.map(({ run }) => run.id)).toEqual(BLOCK_1)
  expect(notRun(result)).toEqual(BLOCK_2.map((id) => `${id}: incomparable`))
})

test('what was made before stays and is not made again, though nothing would be launched after it', async () => {
  const launches = await launchedPlan(EXPERIMENT, ({ block }) => ({ start: block === 1 ? { seed: 99 } : {} }))
  const { result, launched, saved } = await runScene({ kept: launches })
  expect(launched).toEqual([])
  expect(made(result)).toEqual([...WARM_UPS, ...BLOCK_1, ...BLOCK_2])
  expect(saved.length).toBeGreaterThan(6)
})

test('nothing is launched on a machine that is not fit any more', async () => {
  const { result, launched } = await runScene({ kept: ALL.slice(0, 4), isFit: false })
  expect(launched).toEqual([])
  expect(notRun(result)).toEqual(BLOCK_2.map((id) => `${id}: unfit`))
})

test('saves before the checkpoints are evaluated, and the evaluation with the result', async () => {
  const launch = aLaunchRecord({ runId: 'evaluation' })
  const trainer = { ...EXPERIMENT.trainer, evaluate_command: 'evaluate' }
  vi.mocked(reevaluate).mockResolvedValue({ launch, numbers: new Map(), problem: null, doubled: [] })
  const { result, saved } = await runScene({ experiment: { ...EXPERIMENT, trainer } })
  const measured = [...BLOCK_1, ...BLOCK_2]
  expect(vi.mocked(reevaluate).mock.calls.map(([, runIds]) => runIds)).toEqual([measured])
  expect(saved.slice(-2).map(({ reevaluation }) => reevaluation)).toEqual([null, launch])
  expect(result.reevaluation).toBe(launch)
})

test('a full disk ends the plan, and what was measured keeps its report', async () => {
  const workspace = new (class extends SavingNothing {
    override async save(result: Result): Promise<void> {
      if (result.launches.length === 3) throw new Error('no space left')
      await super.save(result)
    }
  })('nowhere')
  const { result, problem, launched } = await runScene({ workspace })
  expect(problem?.message).toBe('no space left')
  expect(launched).toEqual([...WARM_UPS, DISTURBED])
  expect(made(result)).toEqual(launched)
  expect(notRun(result)).toEqual([...BLOCK_1.slice(1), ...BLOCK_2].map((id) => `${id}: stopped`))
})

test('runs are not summarised again and again: at most 30 times on ten launches', async () => {
  const design = { blocks: [2, 4], warm_up_launches: 1, seed: 0 }
  const experiment = anExperiment({ design })
  // Now above and now below the limit of 3, so that the look after block 2 decides nothing.
  const launches = await launchedPlan(experiment, ({ variant, seed }) => ({
    stepSeconds: variant === 'baseline' ? 0.08 : (0.08 / 3) * (seed % 2 === 0 ? 1.02 : 0.98),
  }))
  const { launched } = await runScene({ experiment, launches })
  expect(launched).toHaveLength(10)
  expect(vi.mocked(summarizeRuns).mock.calls.length).toBeLessThanOrEqual(30)
})
