// Which commit a revision means: with a base that is named, of an event, and where it cannot be found.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { commitOf } from '../../../src/io/revisions/commits.ts'
import { aRepository, commit, git, write } from '../../fixtures/experiments/a-repository.ts'
import { aFolder, notCancelled } from '../../fixtures/processes/launching.ts'
import { pullRequestEvent } from '../../harness/events.ts'

const KEY = 'variants.baseline.revision'

afterEach(() => vi.unstubAllEnvs())

async function found(ref: string, folder: string, base?: string): Promise<string> {
  return await commitOf(ref, KEY, base, { workingDirectory: folder, cancelled: notCancelled() })
}

/** `main` and `change` each have a commit that the other lacks. */
async function parted(): Promise<{ folder: string; start: string; main: string; change: string }> {
  const folder = await aRepository()
  const start = await git(folder, 'rev-parse', 'main')
  await write(folder, { 'new.py': '' })
  const change = await commit(folder, 'Change')
  await git(folder, 'checkout', '--quiet', 'main')
  const main = await commit(folder, 'Go on')
  await git(folder, 'checkout', '--quiet', 'change')
  return { folder, start, main, change }
}

async function inPullRequest(headSha: string, baseSha: string): Promise<void> {
  const { name, payload } = pullRequestEvent()
  const { pull_request: pull } = payload as { pull_request: { head: object; base: object } }
  Object.assign(pull.head, { sha: headSha })
  Object.assign(pull.base, { sha: baseSha })
  const file = join(await aFolder(), 'event.json')
  await writeFile(file, JSON.stringify(payload))
  vi.stubEnv('GITHUB_REPOSITORY', 'octo-lab/solver')
  vi.stubEnv('GITHUB_EVENT_NAME', name)
  vi.stubEnv('GITHUB_EVENT_PATH', file)
}

it('the merge base is where the branch started, not where its base is now', async () => {
  const { folder, start, main } = await parted()
  expect(await found('merge-base', folder, 'main')).toBe(start)
  expect(await found('main', folder)).toBe(main)
})

it('a clone finds the branches of its remote', async () => {
  const { folder, start } = await parted()
  const clone = join(await aFolder(), 'clone')
  await git(folder, 'clone', '--quiet', '--branch', 'change', folder, clone)
  expect(await found('merge-base', clone, 'main')).toBe(start)
})

it('a pull request brings its base', async () => {
  const { folder, start, main, change } = await parted()
  await inPullRequest(change, main)
  expect(await found('merge-base', folder)).toBe(start)
})

it('the base of a trial merge is its first parent, also after the base branch moved on', async () => {
  const { folder, start, main, change } = await parted()
  await git(folder, 'checkout', '--quiet', '--detach', 'main')
  await git(folder, 'merge', '--quiet', '--no-ff', '--message', 'Trial merge', 'change')
  await inPullRequest(change, start)
  expect(await found('merge-base', folder)).toBe(main)
})

it('a shallow clone is refused with fetch-depth', async () => {
  const { folder } = await parted()
  const clone = join(await aFolder(), 'clone')
  await git(folder, 'clone', '--quiet', '--depth=1', '--branch=change', `file://${folder}`, clone)
  await expect(found('merge-base', clone, 'main')).rejects.toThrow(
    /^variants\.baseline\.revision: got "merge-base", but this clone is shallow.*fetch-depth: 0, or run git fetch --unshallow$/,
  )
})

it.each([
  [
    'a missing ref',
    'v9',
    undefined,
    /revision: got "v9", which is not a commit in this clone.*fetch-depth: 0/,
  ],
  ['a missing base', 'merge-base', 'v9', /^base: got "v9", which is not a commit/],
  [
    'a base that nobody names',
    'merge-base',
    undefined,
    /got "merge-base", but this run is not for a pull request.*--base main/,
  ],
])('%s is refused with the remedy', async (_, ref, base, message) => {
  const folder = await aRepository()
  await expect(found(ref, folder, base)).rejects.toThrow(message)
})

describe.each(['merge-base', 'main'])('%s', (ref) => {
  it('in a folder outside of git is refused: nothing could be fetched', async () => {
    const folder = await aFolder()
    await expect(found(ref, folder, 'main')).rejects.toThrow(
      `${KEY}: got "${ref}", but ${folder} is not in a git repository, so it has no other revision. Start in a clone of your training's repository. Or make one here: run git init, then commit`,
    )
  })

  it('in a repository that git refuses is refused with its words', async () => {
    const folder = await aFolder()
    await write(folder, { '.git': 'no gitdir', 'inside/new.py': '' })
    await expect(found(ref, join(folder, 'inside'), 'main')).rejects.toThrow(
      /but git does not read the checkout in .*\. Fix it\. It says:\n.*fatal: invalid gitfile/,
    )
  })

  it('without git is refused with what to install', async () => {
    vi.stubEnv('PATH', await aFolder())
    await expect(found(ref, await aFolder(), 'main')).rejects.toThrow(
      `${KEY}: got "${ref}", but git cannot be started (spawn git ENOENT). Install git; on a runner, before the checkout`,
    )
  })
})

it('branches without a common commit are refused', async () => {
  const folder = await aRepository()
  await git(folder, 'checkout', '--quiet', '--orphan', 'other')
  await commit(folder, 'Start anew')
  await expect(found('merge-base', folder, 'main')).rejects.toThrow('have no commit in common')
})
