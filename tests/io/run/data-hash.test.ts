// Whatever changes in the files under `data:` changes their hash.
import { appendFile, mkdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { dataHashes, hashData, requireData } from '../../../src/io/run/data-hash.ts'
import { aFolder } from '../../fixtures/processes/launching.ts'

const GO_ON = new AbortController().signal

async function aDataFolder(): Promise<string> {
  const folder = await aFolder()
  await mkdir(join(folder, 'data', 'held-out'), { recursive: true })
  await writeFile(join(folder, 'data', 'train.bin'), 'train')
  await writeFile(join(folder, 'data', 'held-out', 'test.bin'), 'test')
  return folder
}

const placesOf = (baseline: string, optimized = baseline) => ({
  baseline: { workingDirectory: baseline, python: 'python3' },
  optimized: { workingDirectory: optimized, python: 'python3' },
})

async function hashed(folder: string, when: 'before' | 'after' = 'before', paths = ['data']) {
  const files = await hashData(paths, placesOf(folder), when, GO_ON)
  if (files === null) throw new Error('cancelled')
  return files
}

describe('a change', () => {
  test.each([
    ['of a content', (folder: string) => appendFile(join(folder, 'data/train.bin'), '!'), ['data/train.bin']],
    ['by a new file', (folder: string) => writeFile(join(folder, 'data/new.bin'), ''), ['data/new.bin']],
    [
      'of a name',
      (folder: string) => rename(join(folder, 'data/train.bin'), join(folder, 'data/other.bin')),
      ['data/train.bin', 'data/other.bin'],
    ],
    ['by a loss', (folder: string) => rm(join(folder, 'data/held-out/test.bin')), ['data/held-out/test.bin']],
  ])('%s is seen and named', async (_, change, changed) => {
    const folder = await aDataFolder()
    const before = await hashed(folder)
    await change(folder)
    const hashes = dataHashes(before, await hashed(folder, 'after'))
    expect(hashes.changed).toEqual(changed)
    expect(hashes.after).not.toEqual(hashes.before)
  })

  test('is one too where all of it is gone', async () => {
    const folder = await aDataFolder()
    const before = await hashed(folder)
    await rm(join(folder, 'data'), { recursive: true })
    const hashes = dataHashes(before, await hashed(folder, 'after'))
    expect(hashes.after).not.toEqual(hashes.before)
  })
})

test('without a change the hashes are equal, in other folders too', async () => {
  const [one, other] = [await aDataFolder(), await aDataFolder()]
  const files = await hashData(['data'], placesOf(one, other), 'before', GO_ON)
  const { before } = dataHashes(await hashed(one), files)
  expect(before.baseline).toBe(before.optimized)
  expect(dataHashes(await hashed(one), await hashed(one, 'after'))).toMatchObject({
    before,
    after: before,
    changed: [],
  })
})

test('links are followed, also where they lead in a circle', async () => {
  const folder = await aDataFolder()
  await symlink(join(folder, 'data'), join(folder, 'data', 'again'))
  await symlink(join(folder, 'data', 'train.bin'), join(folder, 'link.bin'))
  const before = await hashed(folder, 'before', ['data', 'link.bin'])
  await appendFile(join(folder, 'data', 'train.bin'), '!')
  expect(dataHashes(before, await hashed(folder, 'after', ['data', 'link.bin'])).changed).toEqual([
    'data/train.bin',
    'link.bin',
  ])
})

test('what is not there is refused by name before anything waits', async () => {
  const folder = await aDataFolder()
  await expect(requireData(['data', 'dato'], placesOf(folder))).rejects.toThrow('data: got "dato"')
  await expect(hashed(folder, 'before', ['dato'])).rejects.toThrow('data: got "dato"')
})

describe('a cancel ends it', () => {
  test('before the first file', async () => {
    expect(await hashData(['data'], placesOf(await aDataFolder()), 'before', AbortSignal.abort())).toBeNull()
  })

  test.each(['before', 'after'] as const)('within a file, %s the launches', async (when) => {
    const folder = await aDataFolder()
    // Sparse, and longer to hash than any test may take.
    await truncate(join(folder, 'data', 'train.bin'), 2 ** 41)
    const cancelling = new AbortController()
    const hashing = hashData(['data'], placesOf(folder), when, cancelling.signal)
    setTimeout(() => cancelling.abort(), 50)
    expect(await hashing).toBeNull()
  })
})
