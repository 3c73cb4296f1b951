// A record is packed to the same bytes whoever packs it, comes back whole, and a changed verdict is named.
import { chmodSync, existsSync, globSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { aFolder } from '../../tests/fixtures/processes/launching.ts'
import { ENDING, PACKED, ROOT, recordNames } from '../archive/layout.ts'
import { pack, unpack } from '../archive/pack.ts'
import { differing, judgeRecords } from '../archive/verdicts.ts'

const NAME = 'gate/mine'

async function aRecord(files: readonly string[], seconds: number, mode: number): Promise<string> {
  const folder = await aFolder()
  mkdirSync(join(folder, NAME, 'runs'), { recursive: true })
  for (const file of files) {
    const path = join(folder, NAME, file)
    writeFileSync(path, `{"file": "${file}"}\n`)
    utimesSync(path, seconds, seconds)
    chmodSync(path, mode)
  }
  return folder
}

it('equal folders give equal bytes, whatever their order, times and modes', async () => {
  const folders = [
    await aRecord(['runs/b.jsonl', 'a.json'], 1e9, 0o600),
    await aRecord(['a.json', 'runs/b.jsonl'], 2e9, 0o664),
  ]
  const [one, other] = await Promise.all(
    folders.map(async (folder) => {
      const packed = await aFolder()
      pack(NAME, folder, packed)
      return readFileSync(join(packed, `${NAME}${ENDING}`))
    }),
  )
  expect(one).toEqual(other)
})

it('what is unpacked is what was packed, and takes the place of what was there', async () => {
  const folder = await aRecord(['a.json', 'runs/b.jsonl'], 1e9, 0o644)
  const [packed, target] = [await aFolder(), await aFolder()]
  pack(NAME, folder, packed)
  unpack(NAME, target, packed)
  const file = join(target, NAME, 'runs/b.jsonl')
  writeFileSync(file, 'changed')
  unpack(NAME, target, packed)
  expect(readFileSync(file, 'utf8')).toBe('{"file": "runs/b.jsonl"}\n')
})

it('a folder that is not there is not packed', async () => {
  const folder = await aFolder()
  expect(() => pack(NAME, folder, folder)).toThrow(`${NAME}: no such folder`)
})

it('a verdict that is another than the recorded one is named, and so is a record that is missing', async () => {
  const verdicts = await judgeRecords()
  expect(differing(verdicts)).toEqual([])
  const { smoke, ...others } = verdicts.experiments
  expect(differing({ ...verdicts, experiments: others })).toEqual(['smoke'])
  const experiments = { ...others, smoke: { ...(smoke as object), verdict: 'failed' } }
  expect(differing({ ...verdicts, experiments })).toEqual(['smoke'])
})

it('all records together take at most 10 MB', () => {
  const bytes = recordNames().map((name) => readFileSync(join(PACKED, `${name}${ENDING}`)).length)
  expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(10e6)
})

it('every link of the README, the docs and the pages of records leads to what is there', () => {
  const pages = ['README.md', ...globSync(['docs/**/*.md', 'benchmarks/**/*.md'], { cwd: ROOT })]
  const targets = pages.flatMap((page) =>
    Array.from(
      readFileSync(join(ROOT, page), 'utf8').matchAll(/\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g),
      ([, link]) => ({
        page,
        link: link ?? '',
      }),
    ),
  )
  const local = targets.filter(({ link }) => !/^(https?|mailto):/.test(link))
  expect(local.length).toBeGreaterThan(200)
  expect(local.filter(({ page, link }) => !existsSync(join(ROOT, dirname(page), link)))).toEqual([])
})
