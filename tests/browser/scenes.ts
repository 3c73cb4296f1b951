// Pages as people get them: every verdict, several experiments, a ladder, many blocks, hostile texts, no GPU.
import { assess } from '../../src/assess.ts'
import type { Experiment } from '../../src/config/experiment.ts'
import { renderLadderPage } from '../../src/ladder/report/html.ts'
import type { MachineRecord } from '../../src/measure/machine-record.ts'
import { type Launched, outcomeOf } from '../../src/measure/outcome.ts'
import type { Profile, Profiles } from '../../src/measure/profile/profile.ts'
import { type PlannedRun, planRuns } from '../../src/plan/plan.ts'
import type { MetricsEvent } from '../../src/read/events.ts'
import { pointsPerCurve } from '../../src/report/html/page.ts'
import { reportedExperiment } from '../../src/report/html/reported.ts'
import type { ReportedExperiment } from '../../src/report/html/section.ts'
import { seededRandom } from '../../src/statistics/random.ts'
import {
  aLaunchRecord,
  anExperiment,
  aRequest,
  measuredAs,
  metricsEvents,
  readMetricsLines,
} from '../fixtures/builders.ts'
import { HOSTILE } from '../fixtures/hostile.ts'
import { aLadder, aRung, type LaunchSpec } from '../fixtures/ladders.ts'
import { aGpuSample, aMachineRecord, aPreflight, filledBySteps } from '../fixtures/machine/records.ts'
import { normal } from '../fixtures/noise.ts'
import { aHostileReported, pageOf } from '../fixtures/reported.ts'

const STEPS = 200
const WALL_SECONDS = 60

interface Scene {
  /** Of the optimized variant, of a step. */
  readonly seconds: number
  readonly loss: number
  readonly samplesPerStep: number
  readonly crashesIn: number | null
  readonly hasGpus: boolean
  /** In one block, by heat. */
  readonly isSlowed: boolean
  readonly profiles: Profiles
}

const FASTER: Scene = {
  seconds: 0.05,
  loss: 0.02,
  samplesPerStep: 16,
  crashesIn: null,
  hasGpus: true,
  isSlowed: false,
  profiles: null,
}

function reported(experiment: Experiment, difference: Partial<Scene> = {}): Promise<ReportedExperiment> {
  return measured(experiment, { ...FASTER, ...difference })
}

async function measured(experiment: Experiment, scene: Scene): Promise<ReportedExperiment> {
  const launched = await Promise.all(planRuns(experiment).map((run, index) => launch(run, index, scene)))
  const records = new Map(launched.map(({ outcome: { run } }) => [run.id, [recordOf(run, scene)]]))
  const preflight = scene.hasGpus ? aPreflight() : null
  const watched = {
    preflight,
    records: scene.hasGpus ? records : new Map<string, readonly MachineRecord[]>(),
  }
  const result = assess(aRequest({ experiment }), launched, watched, undefined, scene.profiles)
  return reportedExperiment(result, launched, watched, pointsPerCurve(1))
}

async function launch(run: PlannedRun, index: number, scene: Scene): Promise<Launched> {
  const startedAt = new Date(Date.UTC(2026, 10, 20, 12, 0, 70 * index)).toISOString()
  const record = { runId: run.id, startedAt }
  if (index === scene.crashesIn) {
    const errors = [{ rank: 0, cause: 'error' as const, message: 'CUDA error: an illegal access', step: 7 }]
    const crashed = aLaunchRecord({ ...record, errors }, { status: 'exited', exitCode: 1, wallSeconds: 20 })
    return { launch: crashed, outcome: outcomeOf(run, crashed, null) }
  }
  const finished = aLaunchRecord(record, { status: 'exited', exitCode: 0, wallSeconds: WALL_SECONDS })
  return { launch: finished, outcome: outcomeOf(run, finished, await readMetricsLines(linesOf(run, scene))) }
}

function linesOf(run: PlannedRun, scene: Scene): string[] {
  const { variant, seed, id } = run
  const random = seededRandom(seed + id.length)
  const isOptimized = variant === 'optimized'
  const ownSeconds = (isOptimized ? scene.seconds : 0.2) * Math.exp(0.004 * normal(random))
  const seconds = Array.from({ length: STEPS }, () => ownSeconds * Math.exp(Math.abs(0.03 * normal(random))))
  const offset = 0.0004 * normal(seededRandom(seed))
  const own = (isOptimized ? scene.loss : 0.02) + 0.0002 * normal(random)
  const lossAt = (step: number) => own + offset + 0.9 * Math.exp(-step / 25)
  const difference = {
    stepSeconds: seconds,
    ...(isOptimized ? { samplesPerStep: scene.samplesPerStep } : {}),
    phases: [
      { event: 'phase' as const, name: 'import' as const, seconds: 3 },
      { event: 'phase' as const, name: 'data' as const, seconds: 2 },
      ...(isOptimized ? [{ event: 'phase' as const, name: 'compile' as const, seconds: 4 }] : []),
    ],
    valLoss: lossAt(STEPS),
    evaluation: { seconds: 0.5 },
    end: { total_seconds: WALL_SECONDS - 2 },
  }
  const events = inWindows(metricsEvents(measuredAs(run, difference)))
  let step = 0
  return events
    .flatMap((event): MetricsEvent[] => {
      if (event.event !== 'steps') return [event]
      const train_loss = event.step_seconds.map(() => {
        step += 1
        return lossAt(step) * Math.exp(0.1 * normal(random))
      })
      const samples = (event.samples?.[0] ?? 16) * step
      const evaluation: MetricsEvent = {
        event: 'evaluation',
        step,
        samples_seen: samples,
        val_loss: lossAt(step),
        seconds: 0.5,
      }
      // The last evaluation is there already.
      return [{ ...event, train_loss }, ...(step < STEPS ? [evaluation] : [])]
    })
    .map((event) => JSON.stringify(event))
}

const WINDOW = 25

/** An evaluation follows each. */
function inWindows(events: readonly MetricsEvent[]): MetricsEvent[] {
  return events.flatMap((event) => {
    if (event.event !== 'steps') return [event]
    const windows = Math.ceil(event.step_seconds.length / WINDOW)
    return Array.from({ length: windows }, (_, index): MetricsEvent => {
      const part = <Item>(values: readonly Item[]) => values.slice(index * WINDOW, (index + 1) * WINDOW)
      return {
        ...event,
        first_step: event.first_step + index * WINDOW,
        step_seconds: part(event.step_seconds),
        samples: part(event.samples ?? []),
      }
    })
  })
}

function recordOf({ id, variant, block }: PlannedRun, scene: Scene): MachineRecord {
  const isSlowed = (tick: number) => scene.isSlowed && block === 2 && tick > 60 && tick < 90
  const random = seededRandom(id.length)
  const samples = Array.from({ length: 2 * WALL_SECONDS }, (_, tick) =>
    [0, 1].map((gpu) =>
      aGpuSample({
        seconds: tick / 2,
        gpu,
        sm_clock_mhz: tick < 8 ? 345 : 1980 - 40 * Math.abs(normal(random)) - 30 * gpu,
        power_watts: tick < 8 ? 90 : (variant === 'optimized' ? 680 : 540) + 10 * normal(random),
        temperature_celsius: Math.round(40 + 20 * (1 - Math.exp(-tick / 20))),
        memory_used_bytes: tick < 8 ? 5e8 : 26e9,
        event_reasons: isSlowed(tick) ? 0x40 : 0,
      }),
    ),
  ).flat()
  const end = { ...(aMachineRecord().end ?? { event: 'end' as const }), seconds: WALL_SECONDS }
  return { ...filledBySteps(id), samples, end } as MachineRecord
}

async function aLadderPage(): Promise<string> {
  const rungs = [
    aRung('compile', { predicts: '1.5 to 2x (plan)' }),
    aRung('bf16', { predicts: '1.2x' }),
    aRung('an-operator-with-a-very-long-name-that-is-cut', { predicts: 'a gain without a number' }),
    aRung('slower', { predicts: '1 / 1.1 to 1.2x' }),
    aRung('crashes'),
  ]
  const seconds: Readonly<Record<string, number>> = { compile: 0.045, bf16: 0.07, slower: 0.095 }
  const failure = { rank: 0, cause: 'out-of-memory' as const, message: 'out of memory', step: 3 }
  const launches = rungs.flatMap(({ name }, index): LaunchSpec[] => [
    { training: 'baseline', stepSeconds: 0.08 * (1 + 0.01 * (index % 3)) },
    {
      training: `${name} alone`,
      stepSeconds: seconds[name] ?? 0.08,
      ...(name === 'crashes' ? { failure } : {}),
    },
    { training: `sum up to ${name}`, stepSeconds: seconds[name] ?? 0.08 },
  ])
  return renderLadderPage(await aLadder(rungs, [[...launches, { training: 'baseline' }]]))
}

const PROFILES: Profiles = {
  baseline: aProfile({
    attention: 62,
    'matrix products': 71,
    optimizer: 18,
    copies: 4,
    'other computation': 33,
    'exposed communication': 0,
    'waiting for the host': 12,
    'idle otherwise': 3,
  }),
  optimized: aProfile({
    attention: 11,
    'matrix products': 24,
    optimizer: 2,
    copies: 6,
    'other computation': 7,
    'exposed communication': 0,
    'waiting for the host': 1,
    'idle otherwise': 1,
  }),
}

/** `kinds`: milliseconds, of which an operator and a kernel have as much each. */
function aProfile(kinds: Readonly<Record<string, number>>): Profile {
  const rows = Object.entries(kinds).map(([kind, ms]) => ({ name: `aten::${kind}`, kind, ms, launches: 12 }))
  return {
    schema_version: 1,
    problems: ['the second trace has no names of operators'],
    traces: [{ file: 'gpu-trace.json.gz', bytes: 1000, steps: 4 }],
    step_ms: Object.values(kinds).reduce((sum, ms) => sum + ms, 0),
    kinds,
    operators: rows,
    kernels: rows.map((row) => ({
      ...row,
      name: `void cutlass::device_kernel<${'x'.repeat(200)}>(${row.name})`,
    })),
    memory: {
      peak_bytes: 4e9,
      categories: { 'kept over the steps': 1e9, 'made in the step': 3e9 },
      largest: [{ bytes: 1e9, where: 'model.py:3 forward' }],
    },
  }
}

const four = anExperiment({ design: { blocks: 4 } })

/** Page by name. */
export const SCENES: Readonly<Record<string, () => Promise<string>>> = {
  passed: async () => pageOf(await reported(four)),
  failed: async () => pageOf(await reported(four, { seconds: 0.11 })),
  crashed: async () => pageOf(await reported(four, { crashesIn: 4 })),
  inconclusive: async () => pageOf(await reported(four, { loss: 0.0209 })),
  invalid: async () => pageOf(await reported(four, { samplesPerStep: 8, isSlowed: true })),
  several: async () =>
    pageOf(
      await reported(four),
      await reported({ ...four, name: 'regression' }, { seconds: 0.205 }),
      await reported({ ...four, name: 'on-the-cpu' }, { hasGpus: false }),
    ),
  ladder: aLadderPage,
  'many-blocks': async () => pageOf(await reported(anExperiment({ design: { blocks: 64 } }))),
  'hostile-markup': async () => pageOf(await aHostileReported(HOSTILE.markup)),
  'hostile-long': async () => pageOf(await aHostileReported(HOSTILE.long)),
  profiled: async () => pageOf(await reported(four, { profiles: PROFILES })),
  'no-gpu': async () => pageOf(await reported(four, { hasGpus: false })),
}
