import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { merged, transportsIn } from '../../../src/measure/machine/interconnect.ts'

const logOf = (name: string) =>
  readFileSync(
    join(import.meta.dirname, '..', '..', 'fixtures', 'machine', 'nccl', `${name}.txt`),
    'utf8',
  ).split('\n')

test.each([
  ['nvlink', ['nvlink'], []],
  ['nvlink-ipc', ['nvlink'], []],
  ['pcie', ['pcie'], []],
  ['shared-memory', ['shared-memory'], []],
  ['sockets-in-a-node', ['sockets'], []],
  ['infiniband', ['nvlink'], ['infiniband']],
  ['sockets-between-nodes', [], ['sockets']],
  ['libfabric', ['nvlink'], ['other']],
  ['nvlink-between-nodes', [], ['nvlink']],
])('the log of %s names its transports', (name, within, between) => {
  expect(transportsIn(logOf(name))).toEqual({ within, between })
})

test('a log without a channel says nothing', () => {
  expect(transportsIn(logOf('no-channel'))).toBeNull()
  expect(transportsIn([])).toBeNull()
})

test('lines count with and without what NCCL writes before them', () => {
  const bare = logOf('infiniband').map((line) => line.split('NCCL INFO ')[1] ?? '')
  expect(transportsIn(bare)).toEqual(transportsIn(logOf('infiniband')))
})

test('processes on different pairs of GPUs may go different ways', () => {
  const both = ['nvlink', 'shared-memory'].flatMap((name) => transportsIn(logOf(name)) ?? [])
  expect(merged(both)).toEqual({ within: ['nvlink', 'shared-memory'], between: [] })
})
