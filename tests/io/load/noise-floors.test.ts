// Noise floors are kept in a folder of their own: found again, replaced, and refused when they are broken.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadNoiseFloors, noiseFloorFolder, storeNoiseFloor } from '../../../src/io/load/noise-floors.ts'
import { aNoiseFloor, aNoiseKey } from '../../fixtures/noise-floors.ts'
import { aFolder } from '../../fixtures/processes/launching.ts'

const { training } = aNoiseKey()

test('a stored floor is found by its training, whatever the machine', async () => {
  const folder = join(await aFolder(), 'not', 'there', 'yet')
  const floors = [
    aNoiseFloor(),
    aNoiseFloor({ key: aNoiseKey({ machine: 'another box' }) }),
    aNoiseFloor({ key: aNoiseKey({ training: 'b'.repeat(64) }) }),
  ]
  for (const floor of floors) await storeNoiseFloor(folder, floor)
  const found = await loadNoiseFloors(folder, [training, 'c'.repeat(64)])
  expect(found.map(({ key }) => key.machine).sort()).toEqual(['GPU-0, GPU-1', 'another box'])
})

test('a floor replaces the one of the same training and machine', async () => {
  const folder = await aFolder()
  await storeNoiseFloor(folder, aNoiseFloor())
  const newer = aNoiseFloor({ key: aNoiseKey({ versions: { torch: '2.16.0' } }) })
  await storeNoiseFloor(folder, newer)
  expect(await loadNoiseFloors(folder, [training])).toEqual([newer])
})

test('there is none where nothing was stored', async () => {
  expect(await loadNoiseFloors(join(await aFolder(), 'absent'), [training])).toEqual([])
})

test.each([
  ['half a file', '{"schema_version": 1'],
  ['another version', JSON.stringify({ ...aNoiseFloor(), schema_version: 2 })],
  ['a floor of 0', JSON.stringify(aNoiseFloor({ log_standard_deviation: 0 }))],
])('%s is refused by its name, with the remedy', async (_, text) => {
  const folder = await aFolder()
  const file = await storeNoiseFloor(folder, aNoiseFloor())
  await writeFile(file, text)
  await expect(loadNoiseFloors(folder, [training])).rejects.toThrow(
    `${file}: this version cannot read this noise floor. Remove it, and measure it again with --mode aa`,
  )
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
