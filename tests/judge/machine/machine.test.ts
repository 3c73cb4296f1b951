import { expect, test } from 'vitest'
import { compare } from '../../../src/judge/compare.ts'
import { checkMachine, usedMachines } from '../../../src/judge/machine/machine.ts'
import { machineProblems } from '../../../src/judge/machine/runs.ts'
import { type MachineSummary, type NodeSummary, summarizeMachine } from '../../../src/measure/machine.ts'
import type { MachineRecord } from '../../../src/measure/machine-record.ts'
import { withMachineMetrics } from '../../../src/measure/metrics/machine-metrics.ts'
import type { RunSummary } from '../../../src/measure/summary.ts'
import { aFinishedRun, aRunSummary } from '../../fixtures/builders.ts'
import { aMachineRecord, aPreflight, aProcess } from '../../fixtures/machine/records.ts'

const RUNS = (['baseline', 'optimized'] as const).map((variant) => aRunSummary({ variant }))
const FINISHED = await aFinishedRun()

function machineOf({ runId }: RunSummary, difference: Partial<MachineRecord> = {}): MachineSummary {
  return { ...summarizeMachine(FINISHED, [aMachineRecord(difference)]), runId }
}

/** The second run's machine is as given, the first one's is fine. */
function checksOf(difference: Partial<MachineSummary>) {
  const machines = RUNS.map((run) => machineOf(run))
  return checkMachine(aPreflight(), RUNS, [
    ...machines.slice(0, 1),
    ...machines.slice(1).map((machine) => ({ ...machine, ...difference })),
  ])
}

/** On the one node of the second run. */
const onNode = (difference: Partial<NodeSummary>): Partial<MachineSummary> => ({
  nodes: machineOf(aRunSummary()).nodes.map((node) => ({ ...node, ...difference })),
})

const stateOf = (name: string, difference: Partial<MachineSummary>) =>
  checksOf(difference).find((check) => check.name === name)?.status

test('a machine that stayed as it was passes every check', () => {
  expect(new Set(checksOf({}).map(({ status }) => status))).toEqual(new Set(['passed']))
})

test('slowdown fails above 1% of the steady samples, and is unknown when it was not sampled', () => {
  expect(stateOf('throttling', onNode({ slowdownShare: 0.01 }))).toBe('passed')
  expect(stateOf('throttling', onNode({ slowdownShare: 0.011 }))).toBe('failed')
  expect(stateOf('throttling', { slowdownShare: null })).toBe('not-measured')
  expect(stateOf('throttling', { isComplete: false })).toBe('warned')
})

test('being at the power limit is information', () => {
  expect(checksOf({ powerCapShare: 0.5 }).find(({ name }) => name === 'throttling')).toMatchObject({
    status: 'passed',
    detail: expect.stringContaining('at the power limit in up to'),
  })
})

test('a foreign process fails, and one that could not be seen is unknown', () => {
  expect(stateOf('GPU sharing', onNode({ foreignProcesses: [77] }))).toBe('failed')
  expect(stateOf('GPU sharing', onNode({ foreignProcesses: null }))).toBe('not-measured')
})

test('a fingerprint that changed in a run fails', () => {
  expect(stateOf('GPU state', onNode({ fingerprintAfter: 'another driver' }))).toBe('failed')
  expect(stateOf('GPU state', onNode({ fingerprintAfter: null }))).toBe('not-measured')
  expect(stateOf('GPU state', onNode({ fingerprintBefore: null, fingerprintAfter: 'another driver' }))).toBe(
    'failed',
  )
})

test('a process that stays on a GPU after its run fails', () => {
  expect(stateOf('GPU release', onNode({ processesLeft: [100] }))).toBe('failed')
  expect(stateOf('GPU release', onNode({ processesLeft: null }))).toBe('not-measured')
})

test('a run that was not watched leaves the others unproven, and what is wrong in them wrong', () => {
  const machines = RUNS.map((run) => machineOf(run))
  const throttling = (watched: readonly MachineSummary[]) =>
    checkMachine(aPreflight(), RUNS, watched).find(({ name }) => name === 'throttling')
  const [first, ...others] = machines
  expect(throttling(others)).toMatchObject({
    status: 'warned',
    detail: `${first?.runId}: the GPU monitor stopped before the run ended, so later disturbances are unknown`,
  })
  expect(throttling(others.map((one) => ({ ...one, ...onNode({ slowdownShare: 0.5 }) })))?.status).toBe(
    'failed',
  )
  expect(throttling([])).toMatchObject({ status: 'not-measured' })
})

test('a run that was not watched to its end may have been disturbed unseen', () => {
  const machines = RUNS.map((run) => machineOf(run))
  const cut = machines.map((machine, index) => ({ ...machine, isComplete: index > 0 }))
  const sharing = checkMachine(aPreflight(), RUNS, cut).find(({ name }) => name === 'GPU sharing')
  expect(sharing).toMatchObject({
    status: 'warned',
    detail: `${machines[0]?.runId}: the GPU monitor stopped before the run ended, so later disturbances are unknown`,
  })
})

test('GPUs that the runs did not use are not judged', () => {
  const runs = RUNS.map((run) => ({ ...run, deviceNames: ['AMD EPYC 9654'] }))
  expect(checkMachine(aPreflight({ processesWanted: 16 }), runs, []).slice(1)).toEqual([
    {
      name: 'GPUs',
      status: 'not-measured',
      detail: 'the runs used AMD EPYC 9654 and no GPU of this machine',
    },
  ])
})

test('GPUs that stand idle beside a training on the CPU give it no number', () => {
  const unseen = RUNS.map((run) => machineOf(run, { processes: [] }))
  const onCpu = RUNS.map((run) => ({ ...run, deviceNames: ['AMD EPYC 9654'] }))
  expect(usedMachines(aPreflight(), onCpu, unseen)).toEqual([])
  expect(usedMachines(aPreflight(), RUNS, unseen)).toEqual(unseen)
})

test('GPUs are judged when a run was seen on them, whatever it calls its devices', () => {
  const runs = RUNS.map((run) => ({ ...run, deviceNames: ['cuda'] }))
  const machines = runs.map((run) => machineOf(run))
  expect(checkMachine(aPreflight(), runs, machines)).toHaveLength(10)
})

test('a machine that nobody looked at was not measured', () => {
  expect(checkMachine(null, RUNS, []).map(({ status }) => status)).toEqual(['not-measured'])
})

const problemsOf = (difference: Partial<MachineRecord>) =>
  machineProblems(machineOf(aRunSummary(), difference))

test('a run counts unless something speaks against it', () => {
  expect(problemsOf({})).toEqual([])
  expect(problemsOf({ samples: [], processes: [] })).toEqual([])
  expect(problemsOf({ processes: [aProcess(), aProcess({ pid: 77, is_ours: false })] })).toEqual([
    'process 77 computed on its GPUs at the same time',
  ])
})

test('at one clock, a variant that ran at a lower clock would have been faster', () => {
  const machines = [1500, 1000].flatMap((meanSmClockMhz, index) =>
    RUNS.slice(index, index + 1).map((run) => ({
      ...machineOf(run),
      meanSmClockMhz,
    })),
  )
  const runs = RUNS.map((run) => withMachineMetrics(run, machines))
  const { speedups } = compare(runs, [])
  expect(speedups.steady?.estimate).toBeCloseTo(1)
  expect(speedups.atOneClock?.estimate).toBeCloseTo(1.5)
  const unclocked = machines.slice(0, 1)
  const { atOneClock } = compare(
    RUNS.map((run) => withMachineMetrics(run, unclocked)),
    [],
  ).speedups
  expect(atOneClock).toBeNull()
})
