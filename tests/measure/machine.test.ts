import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, test } from 'vitest'
import { summarizeMachine } from '../../src/measure/machine.ts'
import { type MachineRecord, readMachine, withSteps } from '../../src/measure/machine-record.ts'
import { withMachineMetrics } from '../../src/measure/metrics/machine-metrics.ts'
import { type FinishedRun, type RunSummary, summarizeRuns } from '../../src/measure/summary.ts'
import { aFinishedRun } from '../fixtures/builders.ts'
import { aGpuSample, aMachineRecord, anEnergySample, aProcess } from '../fixtures/machine/records.ts'

// 40 steps of 16 samples, the first ten of them its warm-up.
const RUN = await aFinishedRun({}, { stepSeconds: 0.1 })
const SUMMARY = summaryOf(RUN)
const summary = (difference: Partial<MachineRecord> = {}) =>
  summarizeMachine(RUN, [aMachineRecord(difference)])

function summaryOf(run: FinishedRun): RunSummary {
  const [alone] = summarizeRuns([run])
  if (alone === undefined) throw new Error('a run has a summary')
  return alone
}

function energyPerSample(run: FinishedRun, record: MachineRecord): number {
  const { metrics } = withMachineMetrics(summaryOf(run), [summarizeMachine(run, [record])])
  return metrics.energy_joules_per_sample ?? Number.NaN
}

/** One GPU, sampled at the given seconds. */
const oneGpu = (samples: readonly Parameters<typeof aGpuSample>[0][]): Partial<MachineRecord> => ({
  gpus: ['GPU-0'],
  samples: samples.map(aGpuSample),
  energy: [],
})

test('a watched run becomes its numbers', () => {
  expect(summary()).toEqual({
    runId: RUN.run.id,
    gpus: 2,
    steadySamples: 11,
    isWhole: true,
    isComplete: true,
    meanSmClockMhz: 1500,
    minSmClockMhz: 1500,
    maxTemperatureCelsius: 53,
    powerWatts: 1200,
    steadySecondsPerSample: 5 / 480,
    energyJoules: 12_000,
    slowdownShare: 0,
    powerCapShare: 1,
    utilization: 1,
    nodes: [
      {
        node: null,
        isComplete: true,
        slowdownShare: 0,
        foreignProcesses: [],
        processesLeft: [],
        fingerprintBefore: 'two H200',
        fingerprintAfter: 'two H200',
        unlocked: null,
      },
    ],
  })
})

test('only the time of the timed steps is steady', () => {
  const clocks = [1, 4, 9, 9.5].map((seconds) => ({ seconds, sm_clock_mhz: 1000 + seconds }))
  expect(summary(oneGpu(clocks))).toMatchObject({
    steadySamples: 2,
    minSmClockMhz: 1004,
    meanSmClockMhz: 1006.5,
  })
})

test('steps that are all reported at the end are still given their time', () => {
  const clocks = [1, 5.5, 7, 9].map((seconds) => ({ seconds, sm_clock_mhz: 1000 + seconds }))
  const steps = [{ event: 'steps' as const, seconds: 9, last_step: 40 }]
  // 30 timed steps of 0.1 s.
  expect(summary({ ...oneGpu(clocks), steps })).toMatchObject({ steadySamples: 2, minSmClockMhz: 1007 })
})

test('the energy of a sample is that of the time around it, so that pauses save none', async () => {
  const energyOf = async (stepSeconds: number, watts: number, pauseSeconds: number) => {
    const run = await aFinishedRun({}, { stepSeconds })
    // Reports after every ten steps, with an evaluation at 100 W after each.
    const lap = 10 * stepSeconds + pauseSeconds
    const joulesAt = (seconds: number) => {
      const [laps, rest] = [Math.floor(seconds / lap), seconds % lap]
      const ofLap = 10 * stepSeconds * watts + pauseSeconds * 100
      return (
        laps * ofLap + Math.min(rest, 10 * stepSeconds) * watts + Math.max(0, rest - 10 * stepSeconds) * 100
      )
    }
    const ticks = Array.from({ length: 400 }, (_, tick) => tick / 20)
    const record = aMachineRecord({
      gpus: ['GPU-0'],
      energy: ticks.map((seconds) => anEnergySample(seconds, 0, joulesAt(seconds))),
      steps: [1, 2, 3, 4].map((at) => ({
        event: 'steps' as const,
        seconds: at * lap - pauseSeconds,
        last_step: 10 * at,
      })),
    })
    return energyPerSample(run, record)
  }
  // Half the time at twice the power: as much energy, with whatever pauses.
  for (const pauseSeconds of [0, 0.5, 2])
    expect((await energyOf(0.1, 600, pauseSeconds)) / (await energyOf(0.05, 1200, pauseSeconds))).toBeCloseTo(
      1,
      1,
    )
  expect(await energyOf(0.1, 600, 2)).toBeCloseTo((600 * 3 + 100 * 6) / 480, 0)
})

test('the samples are those of the window, which begins at a report where a pause follows that', () => {
  // Steps of 0.1 s; reported after step 15, then a pause of 5 s, longer than what is left of the training.
  const steps = [
    { event: 'steps' as const, seconds: 1.5, last_step: 15 },
    { event: 'steps' as const, seconds: 9, last_step: 40 },
  ]
  expect(summary({ steps }).steadySecondsPerSample).toBeCloseTo(7.5 / (25 * 16), 12)
})

test('steps that no report has come to are not in the window', () => {
  const steps = [{ event: 'steps' as const, seconds: 4, last_step: 30 }]
  expect(summary({ steps }).steadySecondsPerSample).toBeCloseTo(0.1 / 16, 12)
})

test('a batch that grows takes as much energy for a sample as one that does not', async () => {
  // 0.01 s and 10 J for each sample, after 160 samples of warm-up; a report after every ten steps or at the end.
  const energyOf = async (samplesPerStep: number[], ends: number[]) => {
    const stepSeconds = samplesPerStep.map((count) => 0.01 * count)
    const run = await aFinishedRun({}, { stepSeconds, samplesPerStep })
    const secondsAfter = (step: number) => stepSeconds.slice(0, step).reduce((total, each) => total + each, 0)
    const ticks = Array.from({ length: 200 }, (_, tick) => tick / 10)
    return energyPerSample(
      run,
      aMachineRecord({
        gpus: ['GPU-0'],
        energy: ticks.map((seconds) => anEnergySample(seconds, 0, 1000 * seconds)),
        steps: ends.map((last_step) => ({
          event: 'steps' as const,
          seconds: secondsAfter(last_step),
          last_step,
        })),
      }),
    )
  }
  const grows = [...Array<number>(20).fill(16), ...Array<number>(20).fill(64)]
  for (const ends of [[10, 20, 30, 40], [40], [5, 15, 40], [5, 40], [3, 30, 40]])
    expect(await energyOf(grows, ends)).toBeCloseTo(10, 6)
  expect(await energyOf(Array<number>(100).fill(16), [10, 60, 100])).toBeCloseTo(10, 6)
})

test('nothing is steady in a run that reported no step', () => {
  expect(summary({ steps: [] })).toMatchObject({
    steadySamples: 0,
    meanSmClockMhz: null,
    powerWatts: null,
    slowdownShare: null,
    utilization: null,
  })
})

test.each([0x8, 0x20, 0x40, 0x80])('bit %i of the reasons is a slowdown', (event_reasons) => {
  const samples = [
    { seconds: 5, event_reasons: 0x1 },
    { seconds: 6, event_reasons: event_reasons | 0x4 },
  ]
  expect(summary(oneGpu(samples))).toMatchObject({ slowdownShare: 0.5, powerCapShare: 0.5 })
})

test('the slowdown is that of the GPU that was slowed down most', () => {
  const samples = [0, 1].flatMap((gpu) =>
    [5, 6, 7, 8].map((seconds) =>
      aGpuSample({ gpu, seconds, event_reasons: gpu === 1 && seconds < 7 ? 0x40 : 0 }),
    ),
  )
  expect(summary({ samples })).toMatchObject({ slowdownShare: 0.5 })
})

test('a GPU without a steady sample leaves the slowdown unknown', () => {
  expect(summary({ samples: [aGpuSample({ seconds: 5, event_reasons: 0 })] })).toMatchObject({
    slowdownShare: null,
  })
})

test('a driver that does not tell the reasons leaves the slowdown unknown', () => {
  const { event_reasons, ...silent } = aGpuSample({ seconds: 5 })
  expect(event_reasons).toBe(0x4)
  expect(summary({ gpus: ['GPU-0'], samples: [silent] })).toMatchObject({
    slowdownShare: null,
    powerCapShare: null,
  })
})

test('without an energy counter the power is the mean of the samples, and the energy unknown', () => {
  expect(summary({ energy: [] })).toMatchObject({ powerWatts: 1380, energyJoules: null })
})

test('a counter that started again tells nothing', () => {
  const energy = [anEnergySample(0, 0, 5000), anEnergySample(10, 0, 100)]
  expect(summary({ gpus: ['GPU-0'], energy })).toMatchObject({ energyJoules: null })
})

test('without a process of our own in the list, the others cannot be told apart', () => {
  const foreign = (...processes: readonly ReturnType<typeof aProcess>[]) =>
    summary({ processes }).nodes.map(({ foreignProcesses }) => foreignProcesses)
  const other = [0, 1].map((gpu) => aProcess({ gpu, pid: 7, is_ours: false }))
  expect(foreign()).toEqual([null])
  expect(foreign(...other)).toEqual([null])
  expect(foreign(aProcess(), ...other)).toEqual([[7]])
})

describe('on several nodes', () => {
  const first = aMachineRecord({ node: 'n1', startedAt: 1000 })
  const none: MachineRecord['steps'] = []

  test('power, energy and GPUs are those of all', () => {
    const both = withSteps([first, aMachineRecord({ node: 'n2', startedAt: 1000, steps: none })], null)
    const one = summary()
    expect(summarizeMachine(RUN, both)).toMatchObject({
      gpus: 4,
      steadySamples: one.steadySamples,
      powerWatts: 2 * (one.powerWatts ?? Number.NaN),
      energyJoules: 2 * (one.energyJoules ?? Number.NaN),
      steadySecondsPerSample: one.steadySecondsPerSample,
      nodes: [{ node: 'n1' }, { node: 'n2' }],
    })
  })

  test('one GPU without a counter makes the energy of all unknown', () => {
    const silent = aMachineRecord({ node: 'n2', startedAt: 1000, energy: [] })
    expect(summarizeMachine(RUN, [first, silent]).energyJoules).toBeNull()
  })

  test('steps are told to each node on its own clock, and to none without a common one', () => {
    const late = aMachineRecord({ node: 'n2', startedAt: 1002.5, steps: none })
    const [, moved] = withSteps([first, late], null)
    expect(moved?.steps.map(({ seconds }) => seconds)).toEqual([1.5, 6.5])
    const [, unknown] = withSteps([first, { ...late, startedAt: null }], null)
    expect(unknown?.steps).toEqual([])
    expect(summarizeMachine(RUN, [first, { ...late, startedAt: null }]).powerWatts).toBeNull()
  })

  test('steps that Speedproof wrote beside the watchers are told to all', () => {
    const told = aMachineRecord({ startedAt: 999, gpus: [] })
    const watchers = [first, { ...first, node: 'n2' }].map((record) => ({ ...record, steps: none }))
    expect(withSteps(watchers, told).map(({ steps }) => steps.map(({ seconds }) => seconds))).toEqual([
      [3, 8],
      [3, 8],
    ])
  })

  test('a node that was not watched to the end leaves the record of all incomplete', () => {
    const cut = aMachineRecord({ node: 'n2', startedAt: 1000, end: null })
    const { isComplete, nodes } = summarizeMachine(RUN, [first, cut])
    expect([isComplete, nodes.map((node) => node.isComplete)]).toEqual([false, [true, false]])
  })
})

test('gates can name the utilisation and the energy of a sample', () => {
  expect(withMachineMetrics(SUMMARY, [summary()]).metrics).toEqual({
    ...SUMMARY.metrics,
    gpu_utilization: 1,
    // 1200 W over the 5 s in which 480 samples were trained on, of which the steps took 3.
    energy_joules_per_sample: 12.5,
    // 1500 MHz for 6.25 ms.
    sm_cycles_per_sample: expect.closeTo(9_375_000, 0),
  })
})

test('what was not measured is no metric', () => {
  const unseen = summary({ gpus: [], samples: [], energy: [] })
  expect(withMachineMetrics(SUMMARY, [unseen]).metrics).toEqual(SUMMARY.metrics)
})

test('a pause of the sampling leaves the record incomplete', () => {
  const sampled = (...seconds: number[]) => summary(oneGpu(seconds.map((at) => ({ seconds: at })))).isComplete
  expect(sampled(1, 5, 9)).toBe(true)
  expect(sampled(1, 9)).toBe(false)
  expect(sampled(1, 4)).toBe(false)
  expect(sampled()).toBe(false)
})

test('a recorded run on an H200 reads as it was', async () => {
  const file = join(import.meta.dirname, '..', 'fixtures', 'machine', 'h200-run.jsonl')
  const record = await readMachine(createInterface({ input: createReadStream(file) }))
  // 60 steps of 50 products of 8192 x 8192 matrices in bf16, 8 "samples" each; recorded on 2026-11-21.
  const run = await aFinishedRun({}, { stepSeconds: Array<number>(60).fill(0.0818), samplesPerStep: 8 })
  expect(record && summarizeMachine(run, [record])).toMatchObject({
    gpus: 1,
    steadySamples: 8,
    isComplete: true,
    meanSmClockMhz: 1441.875,
    maxTemperatureCelsius: 56,
    powerWatts: expect.closeTo(705.65, 1),
    energyJoules: expect.closeTo(3956.85, 1),
    slowdownShare: 0,
    powerCapShare: 1,
    utilization: expect.closeTo(0.996, 3),
    nodes: [{ foreignProcesses: [], processesLeft: [] }],
  })
})

const START = JSON.stringify({ event: 'start', gpus: ['GPU-0'], fingerprint: 'one H200' })
const SAMPLE = JSON.stringify(aGpuSample())

test('a record ends at the line that a kill cut off, and is not complete', async () => {
  const record = await readMachine([START, SAMPLE, SAMPLE.slice(0, 20), SAMPLE])
  expect(record?.samples).toHaveLength(1)
  expect(record?.end).toBeNull()
  expect(record && summarizeMachine(RUN, [record]).isComplete).toBe(false)
})

test('a file that is not a machine record is none', async () => {
  expect(await readMachine([])).toBeNull()
  expect(await readMachine([SAMPLE])).toBeNull()
  expect(await readMachine(['{"event":"start","gpus":"all"}'])).toBeNull()
})
