// Where git does not read a checkout, its reason is told, with the command that mends it.
import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { refusalOfCheckout } from '../../../src/io/revisions/git.ts'
import { revisionOf } from '../../../src/io/revisions/revision.ts'
import { aRepository } from '../../fixtures/experiments/a-repository.ts'
import { aFolder, notCancelled } from '../../fixtures/processes/launching.ts'

afterEach(() => vi.unstubAllEnvs())

const inFolder = (workingDirectory: string) => ({ workingDirectory, cancelled: notCancelled() })

/** Git as it is where somebody else owns the checkout, as in a job's container. */
async function withForeignOwner(): Promise<void> {
  const bin = await aFolder()
  const path = process.env.PATH ?? ''
  const script = `PATH='${path}' GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec git "$@"`
  await writeFile(join(bin, 'git'), `#!/bin/sh\n${script}\n`)
  await chmod(join(bin, 'git'), 0o755)
  vi.stubEnv('PATH', `${bin}:${path}`)
}

test('a checkout of another owner', async () => {
  const folder = await aRepository()
  await withForeignOwner()
  expect(await revisionOf(inFolder(folder))).toBeNull()
  const refusal = await refusalOfCheckout(inFolder(folder))
  expect(refusal).toContain(`Run git config --global --add safe.directory ${folder}. It says:\n`)
  expect(refusal).toContain('dubious ownership')
})

test.each<[string, (folder: string) => Promise<void>, string]>([
  [
    'a config that cannot be read',
    (folder) => writeFile(join(folder, '.git', 'config'), '[core'),
    'bad config',
  ],
  [
    'a format of a later git',
    (folder) => writeFile(join(folder, '.git', 'config'), '[core]\nrepositoryformatversion = 9\n'),
    'version',
  ],
  [
    'a .git that leads nowhere, as of a worktree in a container',
    async (folder) => {
      await rm(join(folder, '.git'), { recursive: true })
      await writeFile(join(folder, '.git'), 'gitdir: /not/mounted\n')
    },
    'not a git repository',
  ],
  ['a half-deleted .git', (folder) => rm(join(folder, '.git', 'HEAD')), 'not a git repository'],
])('%s', async (_, breakIt, named) => {
  const folder = await aRepository()
  await breakIt(folder)
  expect(await refusalOfCheckout(inFolder(folder))).toMatch(
    new RegExp(`Fix it\\. It says:\\n.*${named}`, 's'),
  )
})

test('no git', async () => {
  const folder = await aRepository()
  vi.stubEnv('PATH', await aFolder())
  expect(await refusalOfCheckout(inFolder(folder))).toContain('ENOENT')
})

test('a checkout that git reads, and no checkout, are no refusal', async () => {
  expect(await refusalOfCheckout(inFolder(await aRepository()))).toBeNull()
  expect(await refusalOfCheckout(inFolder(await aFolder()))).toBeNull()
})
