// The hash of a trainer's sources changes with them, and with nothing else.
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { codeHashes, hashCode, hashSources } from '../../../src/io/run/code-hash.ts'
import { aFolder } from '../../fixtures/processes/launching.ts'

const PACKAGE = { module: 'mine.cli' }

async function write(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
}
const sourcesIn = (folder: string, trainer: Parameters<typeof hashSources>[0] = PACKAGE) =>
  hashSources(trainer, folder, join(folder, 'out'))

async function hashIn(...asked: Parameters<typeof sourcesIn>): Promise<string | null> {
  const sources = await sourcesIn(...asked)
  return sources && hashCode(sources)
}

async function aPackage(): Promise<string> {
  const folder = await aFolder()
  await write(folder, { 'mine/cli.py': 'import mine.model\n', 'mine/model.py': 'x = 1\n' })
  return folder
}

describe('the hash of a package', () => {
  test.each([
    ['an edit', { 'mine/model.py': 'x = 2\n' }],
    ['a new module', { 'mine/layers/norm.py': '' }],
    ['a kernel', { 'mine/fused.cu': '// faster\n' }],
  ])('changes with %s', async (_, files) => {
    const folder = await aPackage()
    const before = await hashIn(folder)
    await write(folder, files)
    expect(await hashIn(folder)).not.toBe(before)
  })

  test('changes with a module that is gone, and comes back with it', async () => {
    const folder = await aPackage()
    const before = await hashIn(folder)
    await rm(join(folder, 'mine/model.py'))
    expect(await hashIn(folder)).not.toBe(before)
    await write(folder, { 'mine/model.py': 'x = 1\n' })
    expect(await hashIn(folder)).toBe(before)
  })

  test('does not change with what a training leaves, with notes, or with what is beside it', async () => {
    const folder = await aPackage()
    const before = await hashIn(folder)
    await write(folder, {
      'mine/__pycache__/model.py': '',
      'mine/.cache/kernel.py': '',
      'mine/venv/pyvenv.cfg': '',
      'mine/venv/lib/torch.py': '',
      'mine/data.h5': 'data',
      'mine/README.md': '# Mine\n',
      'tests/test_model.py': '',
      'out/caches/baseline/kernel.py': '',
    })
    expect(await hashIn(folder)).toBe(before)
  })

  test('is the same in another folder, such as a worktree of the same commit', async () => {
    expect(await hashIn(await aPackage())).toBe(await hashIn(await aPackage()))
  })

  test('changes with what a link leads to, a file or a folder of sources, and ends where links lead back', async () => {
    const folder = await aPackage()
    await write(folder, { 'common/loss.py': 'x = 1\n', 'layers/norm.py': 'x = 1\n', 'data/train.h5': 'data' })
    await symlink('../common/loss.py', join(folder, 'mine/loss.py'))
    await symlink('../layers', join(folder, 'mine/layers'))
    await symlink('..', join(folder, 'layers/around'))
    await symlink('../data', join(folder, 'mine/data'))
    await symlink('nowhere.py', join(folder, 'mine/gone.py'))
    const found = [...((await sourcesIn(folder)) ?? new Map()).keys()]
    expect(found).toEqual([
      'mine/cli.py',
      'mine/gone.py',
      'mine/layers/norm.py',
      'mine/loss.py',
      'mine/model.py',
    ])
    for (const edited of ['common/loss.py', 'layers/norm.py', 'mine/nowhere.py']) {
      const before = await hashIn(folder)
      await write(folder, { [edited]: 'x = 2\n' })
      expect(await hashIn(folder)).not.toBe(before)
    }
  })

  test('is found below src/, and of an installed package there is none', async () => {
    const folder = await aFolder()
    expect(await hashIn(folder)).toBeNull()
    await write(folder, { 'src/mine/cli.py': '' })
    expect(await hashIn(folder)).not.toBeNull()
  })
})

test('of a script all that lies in its folder counts, but for the results', async () => {
  const folder = await aFolder()
  const script = { script: 'train.py' }
  await write(folder, { 'train.py': 'import model\n' })
  const before = await hashIn(folder, script)
  await write(folder, { 'out/caches/baseline/kernel.py': '' })
  expect(await hashIn(folder, script)).toBe(before)
  await write(folder, { 'model.py': '' })
  expect(await hashIn(folder, script)).not.toBe(before)
})

test('of a script that is a link what lies beside its target counts too, since Python imports from there', async () => {
  const folder = await aFolder()
  const script = { script: 'code/train.py' }
  await write(folder, { 'lib/train.py': 'import helper\n', 'lib/helper.py': 'x = 1\n', 'code/own.py': '' })
  await symlink('../lib/train.py', join(folder, 'code/train.py'))
  await write(folder, { 'lib/out/caches/baseline/kernel.py': '' })
  await symlink('lib/out', join(folder, 'out'))
  const before = await sourcesIn(folder, script)
  expect([...(before?.keys() ?? [])]).toEqual([
    'code/own.py',
    'code/train.py',
    'lib/helper.py',
    'lib/train.py',
  ])
  await write(folder, { 'lib/helper.py': 'x = 2\n' })
  expect(codeHashes(before, await sourcesIn(folder, script))).toMatchObject({ changed: ['lib/helper.py'] })
})

test('of a script in a linked folder nothing is hashed twice', async () => {
  const folder = await aFolder()
  await write(folder, { 'lib/train.py': '', 'lib/helper.py': '' })
  await symlink('lib', join(folder, 'code'))
  const found = await sourcesIn(folder, { script: 'code/train.py' })
  expect([...(found?.keys() ?? [])]).toEqual(['code/helper.py', 'code/train.py'])
})

test('a launch names the sources that changed, appeared or went in it', async () => {
  const folder = await aPackage()
  const before = await sourcesIn(folder)
  expect(codeHashes(before, before)).not.toHaveProperty('changed')
  await write(folder, { 'mine/cli.py': '', 'mine/made.py': '' })
  await rm(join(folder, 'mine/model.py'))
  const changed = ['mine/cli.py', 'mine/model.py', 'mine/made.py']
  expect(codeHashes(before, await sourcesIn(folder))).toMatchObject({ changed })
  expect(codeHashes(null, before)).toBeNull()
})
