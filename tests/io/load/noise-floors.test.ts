// Noise floors are kept in a folder of their own: found again, replaced, and left out when they are broken.
import { execFileSync } from 'node:child_process'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import {
  loadNoiseFloors,
  noiseFloorFolder,
  storeNoiseFloor,
  whyNotStored,
} from '../../../src/io/load/noise-floors.ts'
import { aNoiseFloor, aNoiseKey } from '../../fixtures/noise-floors.ts'
import { aFolder } from '../../fixtures/processes/launching.ts'

const { training } = aNoiseKey()

afterEach(() => vi.unstubAllEnvs())

/** Nothing is to be noted. */
const none = (message: string): void => {
  throw new Error(message)
}

test('a stored floor is found by its training, whatever the machine', async () => {
  const folder = join(await aFolder(), 'not', 'there', 'yet')
  const floors = [
    aNoiseFloor(),
    aNoiseFloor({ key: aNoiseKey({ machine: 'another box' }) }),
    aNoiseFloor({ key: aNoiseKey({ training: 'b'.repeat(64) }) }),
  ]
  for (const floor of floors) await storeNoiseFloor(folder, floor)
  const found = await loadNoiseFloors(folder, [training, 'c'.repeat(64)], none)
  expect(found.map(({ key }) => key.machine).sort()).toEqual(['GPU-0, GPU-1', 'another box'])
})

test('a floor replaces the one of the same training and machine', async () => {
  const folder = await aFolder()
  await storeNoiseFloor(folder, aNoiseFloor())
  const newer = aNoiseFloor({ key: aNoiseKey({ versions: { torch: '2.16.0' } }) })
  await storeNoiseFloor(folder, newer)
  expect(await loadNoiseFloors(folder, [training], none)).toEqual([newer])
})

test('there is none where nothing was stored', async () => {
  expect(await loadNoiseFloors(join(await aFolder(), 'absent'), [training], none)).toEqual([])
})

test.each<[string, (file: string) => Promise<unknown>]>([
  ['half a file', (file) => writeFile(file, '{"schema_version": 1')],
  ['another version', (file) => writeFile(file, JSON.stringify({ ...aNoiseFloor(), schema_version: 2 }))],
  ['a floor of 0', (file) => writeFile(file, JSON.stringify(aNoiseFloor({ log_standard_deviation: 0 })))],
  ['bytes that are no text', (file) => writeFile(file, Buffer.from([0xff, 0xfe]))],
  ['more than a floor can be', (file) => writeFile(file, ' '.repeat(2 ** 21))],
  ['a folder', (file) => rm(file).then(() => mkdir(file))],
  ['a pipe', (file) => rm(file).then(() => execFileSync('mkfifo', [file]))],
  ['a link to nothing', (file) => rm(file).then(() => symlink('nothing', file))],
])('%s is a warning, and the floors beside it count', async (_, spoil) => {
  const folder = await aFolder()
  const file = await storeNoiseFloor(folder, aNoiseFloor())
  const other = aNoiseFloor({ key: aNoiseKey({ machine: 'another box' }) })
  await storeNoiseFloor(folder, other)
  await spoil(file)
  const notes: string[] = []
  const found = await loadNoiseFloors(folder, [training], (message) => void notes.push(message))
  expect(found).toEqual([other])
  expect(notes).toEqual([
    expect.stringContaining(
      `${file}: this version cannot read this noise floor and goes on without it. Remove`,
    ),
  ])
})

test('lists that are a thousand deep are refused before anything reads them', async () => {
  const folder = await aFolder()
  const file = await storeNoiseFloor(folder, aNoiseFloor())
  await writeFile(file, `${'['.repeat(1000)}${']'.repeat(1000)}`)
  const notes: string[] = []
  expect(await loadNoiseFloors(folder, [training], (message) => void notes.push(message))).toEqual([])
  expect(notes).toEqual([expect.stringMatching(/nests lists or mappings more than \d+ deep/)])
})

test.each([
  ['pull_request', true],
  ['pull_request_target', true],
  ['merge_group', true],
  ['issue_comment', true],
  ['workflow_run', true],
  ['', true],
  ['push', false],
  ['schedule', false],
  ['workflow_dispatch', false],
])('a run for %s may store none: %s', (event, isRefused) => {
  vi.stubEnv('GITHUB_REPOSITORY', 'octo-lab/solver')
  vi.stubEnv('GITHUB_EVENT_NAME', event)
  expect(whyNotStored() !== null).toBe(isRefused)
})

test('outside of a workflow one may be stored', () => {
  vi.stubEnv('GITHUB_REPOSITORY', '')
  expect(whyNotStored()).toBeNull()
})

test('a folder that cannot be written is refused by name', async () => {
  const file = join(await aFolder(), 'a-file')
  await writeFile(file, '')
  await expect(storeNoiseFloor(file, aNoiseFloor())).rejects.toThrow(
    /^noise-floors: cannot write .*; name another folder with noise-floors$/,
  )
})

test('without a name the folder is among the state of the user', () => {
  expect(noiseFloorFolder({ XDG_STATE_HOME: '/var/state' })).toBe('/var/state/speedproof/noise-floors')
  expect(noiseFloorFolder({})).toMatch(/\.local\/state\/speedproof\/noise-floors$/)
})
