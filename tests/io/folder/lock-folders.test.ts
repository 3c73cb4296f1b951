// Two calls in one output folder: the second is refused, whichever of its folders they share.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ConfigError } from '../../../src/errors.ts'
import { lockFolders } from '../../../src/io/folder/lock-folders.ts'
import { aRequest } from '../../fixtures/builders.ts'
import { aFolder, notCancelled, PYTHON, ROOT } from '../../fixtures/processes/launching.ts'

/** As a call locks: its own folder, and one for each of its experiments. */
async function locked(outDirectory: string, experiments: readonly string[] = ['.'], python = PYTHON) {
  const request = aRequest()
  const { experiment } = request
  const launch = { ...experiment.launch, python }
  return await lockFolders({
    questions: experiments.map((name) => ({
      request: { ...request, experiment: { ...experiment, launch } },
      directory: join(outDirectory, name),
    })),
    workingDirectory: ROOT,
    outDirectory,
    cancelled: notCancelled(),
  })
}

test('a second call is refused at once, with the folder, who is at work there and what to do', async () => {
  const out = join(await aFolder(), 'not', 'yet')
  const first = await locked(out)
  const second = locked(out)
  await expect(second).rejects.toThrow(ConfigError)
  await expect(second).rejects.toThrow(
    new RegExp(
      `^out: got "${out}", which another call uses \\(process ${process.pid} on .+, since 20\\S+Z\\)\\. Wait until it ends, or name another folder, on the command line with --out$`,
    ),
  )
  await first[Symbol.asyncDispose]()
  await using _third = await locked(out)
})

test.each([
  ['the same experiments', '.', ['one', 'two']],
  ['other experiments beside them', '.', ['three', 'four']],
  ['one of them alone', 'two', ['.']],
])('a call with several experiments keeps out one with %s', async (_, folder, experiments) => {
  const out = await aFolder()
  await using _first = await locked(out, ['one', 'two'])
  await expect(locked(join(out, folder), experiments)).rejects.toThrow('another call uses')
})

test('a call that is refused for its second folder gives its first one back', async () => {
  const out = await aFolder()
  const alone = await locked(join(out, 'two'))
  await expect(locked(out, ['one', 'two'])).rejects.toThrow(`"${join(out, 'two')}", which another call uses`)
  await alone[Symbol.asyncDispose]()
  await using _both = await locked(out, ['one', 'two'])
})

test('other folders are not locked, and another name of the same one is', async () => {
  const folder = await aFolder()
  await using _first = await locked(join(folder, 'out'))
  await using _other = await locked(join(folder, 'other'))
  await symlink(join(folder, 'out'), join(folder, 'link'))
  await expect(locked(join(folder, 'link'))).rejects.toThrow('another call uses')
})

test('a call that is killed leaves no lock', async () => {
  const out = await aFolder()
  const script = join(ROOT, 'tests', 'fixtures', 'machine', 'hold-folder.ts')
  const holder = spawn(process.execPath, [script, out, PYTHON], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(holder.stdout, 'data')
  await expect(locked(out)).rejects.toThrow(`process ${holder.pid} on `)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  await expect.poll(async () => await locked(out).then(() => 'free', String)).toBe('free')
})

test('a folder that cannot be made or locked is refused with the reason', async () => {
  const folder = await aFolder()
  await writeFile(join(folder, 'file'), '')
  await expect(locked(join(folder, 'file'))).rejects.toThrow(/which cannot be written \(.+ is a file\)/)
  await mkdir(join(folder, 'out', '.speedproof.lock'), { recursive: true })
  await expect(locked(join(folder, 'out'))).rejects.toThrow(
    /which cannot be locked \(.*Is a directory.*\)\. Name a folder on another disk/,
  )
  await rm(join(folder, 'out', '.speedproof.lock'), { recursive: true })
  await expect(locked(join(folder, 'out'), ['.'], 'no-such-python')).rejects.toThrow(
    'which cannot be locked (cannot start "no-such-python"',
  )
})

test('a folder that nobody can write into, not even root, says so as ever', async () => {
  await expect(locked('/proc/self')).rejects.toThrow(/which cannot be written \(.*\); name another folder/)
})
