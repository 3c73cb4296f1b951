import { expect, test } from 'vitest'
import { devicesOfRuns, usedGpus } from '../../../src/io/machine/visible-gpus.ts'
import { aGpu } from '../../fixtures/machine/records.ts'

const GPUS = ['GPU-aa11', 'GPU-aa22', 'GPU-bb33'].map((uuid, index) => aGpu({ index, uuid }))
const used = (visibleDevices: string | undefined, processes = 8) =>
  usedGpus(GPUS, visibleDevices, processes).map(({ index }) => index)

test('each process takes one GPU, from the first on', () => {
  expect(used(undefined, 2)).toEqual([0, 1])
  expect(used(undefined)).toEqual([0, 1, 2])
})

test('the visible devices choose and order the GPUs', () => {
  expect(used('2,0')).toEqual([2, 0])
  expect(used(' 1 , 2 ')).toEqual([1, 2])
  expect(used('2,0', 1)).toEqual([2])
})

test('a GPU may be named by its UUID or its unique beginning', () => {
  expect(used('GPU-bb')).toEqual([2])
  expect(used('GPU-aa22,GPU-aa11')).toEqual([1, 0])
  expect(used('GPU-aa')).toEqual([])
})

test('what follows an entry that names no GPU is invisible too', () => {
  expect(used('')).toEqual([])
  expect(used('-1')).toEqual([])
  expect(used('0,7,1')).toEqual([0])
})

test('what runs beside no experiment of others sees the GPUs of the runs alone', () => {
  expect(devicesOfRuns(undefined, 2)).toBe('0,1')
  expect(devicesOfRuns('2,0,1', 2)).toBe('2,0')
  expect(devicesOfRuns('GPU-bb', 4)).toBe('GPU-bb')
  expect(devicesOfRuns('', 2)).toBe('')
})
