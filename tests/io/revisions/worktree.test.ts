// A worktree is there for as long as it is needed, and gone afterwards, however its job ended.
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { removeSavedWorktrees } from '../../../src/io/revisions/saved-worktrees.ts'
import { addWorktree } from '../../../src/io/revisions/worktree.ts'
import { aRepository, git, worktreesOf, write } from '../../fixtures/experiments/a-repository.ts'
import { notCancelled } from '../../fixtures/processes/launching.ts'

async function added(repository: string, sharedPaths: readonly string[] = [], workingDirectory = repository) {
  const folder = join(repository, 'out', 'worktrees', 'baseline')
  const place = { workingDirectory, cancelled: notCancelled() }
  return { folder, worktree: await addWorktree(folder, 'main', sharedPaths, place) }
}

it('holds the commit, whatever the working tree holds', async () => {
  const repository = await aRepository()
  const before = await readFile(join(repository, 'config.yaml'), 'utf8')
  await write(repository, { 'config.yaml': 'steps: 1\n' })
  const { folder, worktree } = await added(repository)
  expect(await readFile(join(worktree.workingDirectory, 'config.yaml'), 'utf8')).toBe(before)
  await worktree[Symbol.asyncDispose]()
  expect(existsSync(folder)).toBe(false)
  expect(await worktreesOf(repository)).toEqual([])
})

it('has the working directory of the checkout, below its top too', async () => {
  const repository = await aRepository()
  const below = join(repository, 'model')
  await mkdir(below)
  const { folder, worktree } = await added(repository, [], below)
  await using _ = worktree
  expect(worktree.workingDirectory).toBe(join(folder, 'model/'))
})

it('shares what is named, and removes only its link to it', async () => {
  const repository = await aRepository()
  const { worktree } = await added(repository, ['data'])
  await writeFile(join(worktree.workingDirectory, 'data', 'field.h5'), 'numbers')
  await worktree[Symbol.asyncDispose]()
  expect(await readFile(join(repository, 'data', 'field.h5'), 'utf8')).toBe('numbers')
})

it('refuses to share what the revision has itself, and leaves nothing', async () => {
  const repository = await aRepository()
  await expect(added(repository, ['config.yaml'])).rejects.toThrow(
    'launch.shared_paths: got "config.yaml", which is part of the revision itself',
  )
  expect(await worktreesOf(repository)).toEqual([])
})

it('is made although an interrupted job left one half made', async () => {
  const repository = await aRepository()
  const { folder } = await added(repository)
  // As git leaves it when it is killed while it checks out.
  await git(repository, 'worktree', 'lock', folder)
  await using again = (await added(repository)).worktree
  expect(existsSync(join(again.workingDirectory, 'train.py'))).toBe(true)
})

it('is removed by post, once', async () => {
  const repository = await aRepository()
  const { folder } = await added(repository)
  const remove = (text: string) => removeSavedWorktrees(text, join(repository, 'out'), repository)
  const saved = JSON.stringify([folder])
  expect([await remove(saved), await remove(saved)]).toEqual([1, 0])
  expect(await worktreesOf(repository)).toEqual([])
  expect(await remove('')).toBe(0)
})

it.each(['/', '/work', 'src', '../worktrees/a/baseline', 'worktrees/../../a/b'])(
  'a text that somebody else has written removes nothing: %s',
  async (path) => {
    const repository = await aRepository()
    const folders = JSON.stringify([join(repository, 'out', path)])
    await expect(removeSavedWorktrees(folders, join(repository, 'out'), repository)).rejects.toThrow(
      'expected folders below',
    )
    expect(existsSync(join(repository, 'config.yaml'))).toBe(true)
  },
)
