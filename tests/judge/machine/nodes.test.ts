import { describe, expect, test } from 'vitest'
import { disturbanceOf } from '../../../src/judge/machine/disturbance.ts'
import { checkMachine, isFit } from '../../../src/judge/machine/machine.ts'
import { summarizeMachines } from '../../../src/measure/machine.ts'
import type { MachineRecord, NodeFacts } from '../../../src/measure/machine-record.ts'
import { aFinishedRun, anExperiment, aRunSummary } from '../../fixtures/builders.ts'
import {
  aGpu,
  aGpuSample,
  aMachineRecord,
  aPreflight,
  aProcess,
  measured,
} from '../../fixtures/machine/records.ts'

type Answered = Extract<NodeFacts, { status: 'answered' }>

const RUN = await aFinishedRun()
const { host, gpus, processes, probes } = aPreflight()

function aNode(node: string, difference: Partial<Answered> = {}): Answered {
  const versions = { python: '3.12.3', torch: '2.11.0' }
  return { status: 'answered', node, host, gpus, processes, probes, versions, data: null, ...difference }
}

const preflightOf = (...nodes: NodeFacts[]) => aPreflight({ nodes })
const TWO = preflightOf(aNode('n1'), aNode('n2'))

const recordOf = (node: string, difference: Partial<MachineRecord> = {}) =>
  aMachineRecord({ node, startedAt: 1000, ...difference })

/** One measured run, with what its nodes have seen. */
function checksOf(records: readonly MachineRecord[], preflight = TWO) {
  const summary = aRunSummary({ runId: RUN.run.id })
  return checkMachine(preflight, [summary], machinesOf(records, preflight))
}

const machinesOf = (records: readonly MachineRecord[], preflight = TWO) =>
  summarizeMachines([{ ...RUN }], { preflight, records: new Map([[RUN.run.id, records]]) })

const found = (name: string, checks: ReturnType<typeof checkMachine>) =>
  checks.find((check) => check.name === name)

describe('the facts of the nodes', () => {
  test('pass where all are alike, with one line for all', () => {
    const checks = checkMachine(TWO, [], [])
    expect(found('nodes', checks)?.status).toBe('passed')
    expect(found('GPUs', checks)).toEqual({
      name: 'GPUs',
      status: 'passed',
      detail: '2 x NVIDIA H200, driver 580.159.04',
    })
    expect(isFit(anExperiment(), TWO)).toBe(true)
  })

  const other = (difference: Parameters<typeof aGpu>[0]) =>
    measured([aGpu(difference), aGpu({ index: 1, ...difference })])

  test.each<[string, Partial<Answered>, string]>([
    ['another kind of GPU', { gpus: other({ name: 'NVIDIA H100' }) }, 'NVIDIA H100 (n2)'],
    ['one GPU less', { gpus: measured([aGpu()]) }, '1 x NVIDIA H200 (n2)'],
    ['another driver', { gpus: other({ driver: '560.1' }) }, '560.1 (n2)'],
    ['another power limit', { gpus: other({ powerLimitWatts: 500 }) }, '500 W (n2)'],
    ['another torch', { versions: { python: '3.12.3', torch: '2.12.0' } }, 'torch 2.12.0 (n2)'],
    ['other data', { data: 'b'.repeat(64) }, 'SHA-256 bbbbbbbbbbbb (n2)'],
    ['no GPU', { gpus: { status: 'not-measured', reason: 'no nvidia-smi' } }, 'none seen (n2)'],
  ])('fail with %s, and say where', (_, difference, said) => {
    const preflight = preflightOf(
      aNode('n1', { data: 'a'.repeat(64) }),
      aNode('n2', { data: 'a'.repeat(64), ...difference }),
    )
    const check = found('nodes', checkMachine(preflight, [], []))
    expect(check).toMatchObject({ status: 'failed', detail: expect.stringContaining(said) })
    expect(isFit(anExperiment(), preflight)).toBe(false)
  })

  test('fail where a node does not answer', () => {
    const preflight = preflightOf(aNode('n1'), {
      status: 'unreachable',
      node: 'n2',
      reason: 'no route to host',
    })
    expect(found('nodes', checkMachine(preflight, [], []))).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('n2 (no route to host)'),
    })
  })

  test('name the node on which another process computes', () => {
    const busy = aNode('n2', { processes: measured([{ gpuUuid: 'GPU-0', pid: 4711 }]) })
    const check = found('GPU processes', checkMachine(preflightOf(aNode('n1'), busy), [], []))
    expect(check).toMatchObject({ status: 'failed', detail: expect.stringMatching(/n2: process 4711/) })
  })

  test('compare GPUs of two nodes as those of one', () => {
    const slow = measured([{ uuid: 'GPU-0', productTflops: 500, copyGigabytesPerSecond: 4200 }])
    const preflight = preflightOf(aNode('n1'), aNode('n2', { probes: slow }))
    expect(found('GPU probe', checkMachine(preflight, [], []))?.status).toBe('failed')
  })
})

describe('what was seen of the nodes during the runs', () => {
  test.each<[string, MachineRecord[]]>([
    ['a node has no record', [recordOf('n1')]],
    [
      'nvidia-smi of a node gave no answer',
      [recordOf('n1'), recordOf('n2', { gpus: [], samples: [], energy: [] })],
    ],
    ['a node shows one GPU less', [recordOf('n1'), recordOf('n2', { gpus: ['GPU-0'] })]],
  ])('is of no number, lock or throttling where %s', (_, records) => {
    const [machine] = machinesOf(records)
    expect(machine).toMatchObject({ isWhole: false, powerWatts: null, energyJoules: null, utilization: null })
    const checks = checksOf(records)
    expect(found('lock', checks)?.status).toBe('not-measured')
    for (const name of ['throttling', 'GPU state', 'GPU release'])
      expect(found(name, checks)?.status).not.toBe('passed')
  })

  const hot = recordOf('n2', {
    samples: aMachineRecord().samples.map((sample) => aGpuSample({ ...sample, event_reasons: 0x40 })),
  })
  const shared = recordOf('n2', { processes: [aProcess(), aProcess({ pid: 77, is_ours: false })] })
  const kept = recordOf('n2', {
    end: { event: 'end', seconds: 10, fingerprint: 'two H200', processes_left: [9], is_complete: true },
  })

  test('passes where all stayed as they were', () => {
    const checks = checksOf([recordOf('n1'), recordOf('n2')])
    expect(checks.filter(({ status }) => status !== 'passed')).toEqual([])
  })

  test.each([
    ['throttling', hot],
    ['GPU sharing', shared],
    ['GPU release', kept],
    ['GPU state', recordOf('n2', { fingerprint: 'one H200' })],
    ['lock', recordOf('n2', { unlocked: 'held by process 5' })],
  ])('fails %s for the second node, and names it', (name, record) => {
    const check = found(name, checksOf([recordOf('n1'), record]))
    expect(check).toMatchObject({ status: 'failed', detail: expect.stringContaining('n2') })
  })

  test('two nodes have other GPUs, which is no change between runs', () => {
    const other = recordOf('n2', {
      fingerprint: 'two more H200',
      end: { event: 'end', seconds: 10, fingerprint: 'two more H200', processes_left: [], is_complete: true },
    })
    expect(found('GPU state', checksOf([recordOf('n1'), other]))?.status).toBe('passed')
  })

  test('a node without a record was not watched', () => {
    const checks = checksOf([recordOf('n1')])
    for (const name of ['throttling', 'GPU sharing', 'GPU state', 'GPU release'])
      expect(found(name, checks)).toMatchObject({ status: 'not-measured' })
  })

  test('a disturbance on any node sets the run aside', () => {
    const launched = { launch: null, outcome: RUN }
    expect(disturbanceOf(launched, [recordOf('n1'), recordOf('n2')])).toBeNull()
    expect(disturbanceOf({ ...launched, outcome: { ...RUN } }, [recordOf('n1'), shared])).toMatch(
      /^n2: process 77/,
    )
  })
})
