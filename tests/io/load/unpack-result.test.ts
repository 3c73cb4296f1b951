// An archive of somebody else gives us the files that a verdict is made from, or nothing.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { UNPACK_LIMITS, unpackResult } from '../../../src/io/load/unpack-result.ts'
import { aFolder } from '../../fixtures/processes/launching.ts'
import { type ZipEntry, zip } from '../../harness/zip.ts'

const RESULT = { name: 'result.json', content: '{}' }
const METRICS = 'runs/01-block-1-baseline/trainer/metrics.jsonl'

async function unpack(entries: readonly ZipEntry[] | Buffer, limits = {}) {
  const root = await aFolder()
  const [archive, folder] = [join(root, 'artifact.zip'), join(root, 'inside', 'out')]
  await mkdir(folder, { recursive: true })
  await writeFile(archive, Buffer.isBuffer(entries) ? entries : zip(entries))
  const refusal = await unpackResult(archive, folder, { ...UNPACK_LIMITS, ...limits }).then(
    () => null,
    (error: Error) => error.message,
  )
  const all = await readdir(root, { recursive: true, withFileTypes: true })
  const files = all.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
  return { refusal, folder, files: files.filter((path) => path !== archive) }
}

it('what a verdict needs is unpacked as it is', async () => {
  const { refusal, folder, files } = await unpack([RESULT, { name: METRICS, content: 'a line\n' }])
  expect(refusal).toBeNull()
  expect(files.sort()).toEqual([join(folder, 'result.json'), join(folder, METRICS)])
  expect(await readFile(join(folder, METRICS), 'utf8')).toBe('a line\n')
})

it.each(['machine.jsonl', 'machine-n2.cluster.jsonl', 'steps.jsonl', 'profile/profile.json'])(
  'what was seen of every node of a launch is unpacked: %s',
  async (name) => {
    const { folder, files } = await unpack([{ name: `runs/01-block-1-baseline/${name}`, content: 'x' }])
    expect(files).toEqual([join(folder, 'runs/01-block-1-baseline', name)])
  },
)

it.each([
  'report.md',
  'runs/01/machine-.jsonl',
  'runs/01/log.txt',
  'node_modules/x.js',
  '.npmrc',
  'runs/..x/trainer/metrics.jsonl',
  'runs/01/metrics.jsonl',
  'runs/01/trainer/machine.jsonl',
])('anything else stays inside: %s', async (name) => {
  const { refusal, files } = await unpack([{ name, content: 'x' }])
  expect({ refusal, files }).toEqual({ refusal: null, files: [] })
})

describe('refused, with nothing outside of the folder, is', () => {
  it.each([
    ['a name that climbs out', '../../result.json', /invalid relative path/],
    ['a climb in the middle', 'runs/../../result.json', /invalid relative path/],
    ['an absolute name', '/tmp/result.json', /absolute path/],
    ['a name of Windows', 'runs\\01\\metrics.jsonl', /invalid characters/],
  ])('%s', async (_, name, reason) => {
    const { refusal, files } = await unpack([{ name, content: 'x' }])
    expect(refusal).toMatch(reason)
    expect(files).toEqual([])
  })

  it.each([
    ['a file that is there twice', [RESULT, RESULT], {}, /result\.json twice/],
    [
      'a file that is too large',
      [{ ...RESULT, content: 'xxxx' }],
      { fileBytes: 3 },
      /has 4 bytes, at most 3/,
    ],
    [
      'too many bytes together',
      [RESULT, { name: METRICS, content: 'xx' }],
      { totalBytes: 3 },
      /at most 1 are/,
    ],
    ['too many files', [RESULT, { name: 'a', content: '' }], { entries: 1 }, /2 files, at most 1/],
    [
      'a bomb that says it is small',
      [{ ...RESULT, content: 'x'.repeat(1e6), announcedBytes: 3 }],
      {},
      /too many bytes/,
    ],
    ['a file that is shorter than it says', [{ ...RESULT, announcedBytes: 9 }], {}, /not enough bytes/],
  ] as const)('%s', async (_, entries, limits, reason) => {
    const { refusal } = await unpack([...entries], limits)
    expect(refusal).toMatch(reason)
  })

  it('something that is no archive', async () => {
    const { refusal } = await unpack(Buffer.from('<html>not found</html>'))
    expect(refusal).toContain('the artifact cannot be read')
  })
})
