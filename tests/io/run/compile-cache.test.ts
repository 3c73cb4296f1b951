// What a launch found in the compile caches of its variant is told by the files before and after it.
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { cacheVariables, watchCache } from '../../../src/io/run/compile-cache.ts'
import { aFolder } from '../../fixtures/processes/launching.ts'

async function compile(folder: string, file: string): Promise<void> {
  const path = join(folder, file)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, 'code')
}

test('both compilers have their folder below that of the variant', () => {
  expect(cacheVariables('caches/baseline')).toEqual({
    TORCHINDUCTOR_CACHE_DIR: 'caches/baseline/inductor',
    TRITON_CACHE_DIR: 'caches/baseline/triton',
  })
})

test('the first launch that compiles is cold, the next one warm, and one with more to compile cold again', async () => {
  const folder = await aFolder()
  const first = await watchCache(folder)
  await compile(folder, 'inductor/ab/kernel.py')
  expect(await first()).toBe('cold')
  const second = await watchCache(folder)
  expect(await second()).toBe('warm')
  await compile(folder, 'triton/cd/kernel.cubin')
  expect(await second()).toBe('cold')
})

test('a launch that compiles nothing leaves its cache unused, also where there is no folder', async () => {
  const folder = await aFolder()
  const unused = await watchCache(join(folder, 'absent'))
  expect(await unused()).toBe('unused')
})

test('locks and temporary files are not taken for code', async () => {
  const folder = await aFolder()
  const unused = await watchCache(folder)
  await compile(folder, 'inductor/locks/kernel.lock')
  expect(await unused()).toBe('unused')
})
