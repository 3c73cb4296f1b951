// A folder is moved aside for a new experiment only if what lies in it is ours.
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refuseSurrounding } from '../../../src/io/folder/own-folder.ts'
import { refuseForeignFolder, saveCommonReport, Workspace } from '../../../src/io/folder/workspace.ts'
import { aFolder } from '../../fixtures/processes/launching.ts'
import { aRecord } from '../../harness/records.ts'

async function aFolderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await aFolder()
  await mkdir(join(folder, 'runs'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}

test.each([
  ['no record', {}, 'runs'],
  ['another report', { 'report.md': '# Mine' }, 'report.md, runs'],
  ['a result of another program', { 'result.json': '{"schemaVersion": 1}' }, 'result.json, runs'],
  ['a result that is no JSON', { 'result.json': 'good' }, 'result.json, runs'],
  [
    'a result that is too deep',
    { 'result.json': `{"experimentFile": ${'['.repeat(1000)}${']'.repeat(1000)}}` },
    'result.json, runs',
  ],
])('a folder with %s is refused, with what is there, and left as it is', async (_, files, there) => {
  const folder = await aFolderWith(files)
  const before = await readdir(folder)
  await expect(Workspace.fresh(folder)).rejects.toThrow(
    `out: got "${folder}", which already has ${there} that Speedproof did not write. Name another`,
  )
  expect(await readdir(folder)).toEqual(before)
})

test.each([
  ['without any of our names', async () => await aFolder()],
  ['that is not there', async () => join(await aFolder(), 'not', 'yet')],
  [
    'of a run that was killed in its first launch',
    async () => (await Workspace.fresh(await aFolder())).directory,
  ],
  ['of a run of before there was a mark', () => aRecord('smoke')],
  [
    'of a ladder of before there was a mark',
    async () => aFolderWith({ 'ladder.json': '{"experimentFile": "a"}' }),
  ],
  [
    'with a common report',
    async () => {
      const folder = await aFolder()
      await saveCommonReport(folder, '# Ours')
      return folder
    },
  ],
])('a folder %s is not', async (_, folderOf) => {
  await expect(refuseForeignFolder(await folderOf())).resolves.toBeUndefined()
})

test('a folder that is a link to nothing is refused as that, and one that is a link to a folder is taken', async () => {
  const folder = await aFolder()
  const [link, inLink, good] = [join(folder, 'link'), join(folder, 'link', 'out'), join(folder, 'good')]
  await symlink('nowhere', link)
  await symlink('.', good)
  for (const out of [link, inLink])
    await expect(Workspace.fresh(out)).rejects.toThrow(
      `out: got "${out}", which cannot be written (${link} is a link to nowhere, which does not exist); name another folder`,
    )
  expect((await Workspace.fresh(good)).directory).toBe(good)
})

test('folders that several processes make at once are made', async () => {
  const out = join(await aFolder(), 'a', 'b', 'c')
  await Promise.all(Array.from({ length: 64 }, () => Workspace.fresh(out)))
  expect(await readdir(out)).toContain('runs')
})

test.each(['/', '/work', '/work/project'])(
  '%s, in which the project lies, is no folder for results',
  (out) => {
    expect(() => refuseSurrounding(out, '/work/project')).toThrow(
      `out: got "${out}", which contains the working directory; results need a folder of their own`,
    )
  },
)

test('a link to where the project lies is no folder for results either', async () => {
  const project = await aFolder()
  const link = join(await aFolder(), 'link')
  await symlink(project, link)
  expect(() => refuseSurrounding(link, project)).toThrow(
    `out: got "${link}", which contains the working directory`,
  )
  const linkedProject = join(project, 'linked')
  await symlink(await aFolder(), linkedProject)
  expect(() => refuseSurrounding(project, linkedProject)).toThrow('which contains the working directory')
  await mkdir(join(project, 'out'))
  expect(() => refuseSurrounding(join(link, 'out'), project)).not.toThrow()
})

test.each(['/work/project/out', '/work/project-2', '/work/project/..out', '/tmp/out'])(
  '%s is a folder for results',
  (out) => {
    expect(() => refuseSurrounding(out, '/work/project')).not.toThrow()
  },
)
