// The output folder, of which the system may refuse later what it allowed at the start.
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RunError } from '../../../src/errors.ts'
import { Workspace } from '../../../src/io/folder/workspace.ts'
import { aPlannedRun } from '../../fixtures/builders.ts'

async function aWorkspace(): Promise<Workspace> {
  return await Workspace.fresh(join(await mkdtemp(join(tmpdir(), 'speedproof-workspace-')), 'out'))
}

const refusal = (work: Promise<unknown>) => expect(work).rejects.toThrow(RunError)

test('a folder that is removed meanwhile is no bug of ours', async () => {
  const workspace = await aWorkspace()
  await rm(workspace.directory, { recursive: true })
  await expect(workspace.saveLadder('{}', '# ladder')).rejects.toThrow(
    `out: ${workspace.ladderFile} cannot be written any more (ENOENT: no such file or directory, open '${workspace.ladderFile}.`,
  )
  await refusal(workspace.saveLadder('{}', '# ladder'))
})

test('what the system refuses names the file and how to go on, and the file stays as it was', async () => {
  const workspace = await aWorkspace()
  await workspace.saveLadder('{"before": true}', '# before')
  // Longer than a file's name may be.
  const long = Object.create(workspace, { ladderFile: { value: join(workspace.directory, 'x'.repeat(300)) } })
  await expect(long.saveLadder('{}', '# after')).rejects.toThrow(
    /^out: .*x cannot be written any more \(ENAMETOOLONG: .*\)\. Fix the cause, .*; what was written so far is kept$/,
  )
  expect(await readFile(workspace.ladderFile, 'utf8')).toBe('{"before": true}')
})

test('nor is a launch without a place', async () => {
  const workspace = await aWorkspace()
  const run = aPlannedRun()
  await mkdir(join(workspace.runFiles(run).directory, 'config.json'), { recursive: true })
  await refusal(workspace.prepareRun(run, { file: { name: 'config.json', content: '{}' } }))
})
