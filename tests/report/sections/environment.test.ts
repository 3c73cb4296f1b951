import { expect, test } from 'vitest'
import { assess } from '../../../src/assess.ts'
import type { NodeFacts } from '../../../src/measure/machine-record.ts'
import { environmentSection } from '../../../src/report/sections/environment.ts'
import { anExperiment, aRequest, launchedPlan } from '../../fixtures/builders.ts'
import { aPreflight, measured } from '../../fixtures/machine/records.ts'

const experiment = anExperiment()
const ALL = await launchedPlan(experiment)
const { host, gpus, processes, probes } = aPreflight()

const aNode = (node: string, cores = 32): NodeFacts => ({
  ...{ status: 'answered', node, gpus, processes, probes, versions: {}, data: null },
  host: { ...host, cores },
})

function rowsOf(nodes: NodeFacts[] | undefined): string[] {
  const interconnect = measured({
    ...{ backend: 'nccl', bytes: 1, within: [], between: [] },
    transports: { within: ['nvlink' as const], between: ['infiniband' as const] },
  })
  const preflight = nodes === undefined ? aPreflight() : aPreflight({ nodes, interconnect })
  const section = environmentSection(assess(aRequest({ experiment }), ALL, { preflight, records: new Map() }))
  const lines = (section === null ? '' : section.markdown).split('\n')
  return lines
    .filter((line) => /^\|\s*(node|\d+ nodes|interconnect)\b/.test(line))
    .map((line) => line.replaceAll(/\s+/g, ' '))
}

test('nodes that are alike share a line, beside what connects them', () => {
  expect(rowsOf([aNode('n1'), aNode('n2')])).toEqual([
    '| 2 nodes | n1, n2: 2 x NVIDIA H200, driver 580.159.04; 32 x a CPU |',
    expect.stringMatching(
      /^\| interconnect \| nvlink within a node, infiniband between nodes; .* is unknown in /,
    ),
  ])
})

test('nodes that differ have a line each, and one that did not answer too', () => {
  const lost: NodeFacts = { status: 'unreachable', node: 'n3', reason: 'no route' }
  expect(rowsOf([aNode('n1'), aNode('n2', 64), lost])).toMatchObject([
    expect.stringContaining('n1: 2 x NVIDIA H200'),
    expect.stringContaining('64 x a CPU'),
    expect.stringContaining('n3: did not answer (no route)'),
    expect.stringContaining('interconnect'),
  ])
})

test('one host has no line of nodes', () => {
  expect(rowsOf(undefined)).toEqual([])
})
