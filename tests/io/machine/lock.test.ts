import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { factsOf, type LockRequest, lockFolder, lockHost, lockNames } from '../../../src/io/machine/lock.ts'
import { listProcesses } from '../../../src/io/process/process-table.ts'
import { aGpu } from '../../fixtures/machine/records.ts'
import { aFolder, notCancelled, PYTHON, ROOT } from '../../fixtures/processes/launching.ts'

const lock = async (folder: string, names: string[], difference: Partial<LockRequest> = {}) =>
  await lockHost({
    names,
    folder,
    python: PYTHON,
    limitMinutes: 1,
    cancelled: notCancelled(),
    onWait: () => {},
    ...difference,
  })

test('a second one waits, is told for whom, and gets the lock when it is given back', async () => {
  const folder = await aFolder()
  const first = await lock(folder, ['GPU-0'])
  const told: string[] = []
  const second = lock(folder, ['GPU-0'], { onWait: (holder) => told.push(holder) })
  await expect.poll(() => told).toEqual([expect.stringMatching(/^process \d+ on .+, since 20\S+Z$/)])
  await first[Symbol.asyncDispose]()
  await using _held = await second
})

test('other GPUs are not waited for, a part of the same ones is', async () => {
  const folder = await aFolder()
  await using _first = await lock(folder, ['GPU-0', 'GPU-1'])
  await using _other = await lock(folder, ['GPU-2', 'GPU-3'])
  const shared = await lock(folder, ['GPU-4', 'GPU-1'], { limitMinutes: 0.01 })
  expect(shared.facts).toMatchObject({ status: 'timed-out', waitedFor: expect.stringMatching(/^process /) })
  // What it had taken on the way is free again.
  await using _rest = await lock(folder, ['GPU-4'])
})

test('the lock of a process that is killed is free', async () => {
  const folder = await aFolder()
  const script = join(ROOT, 'tests', 'fixtures', 'machine', 'hold-lock.ts')
  const holder = spawn(process.execPath, [script, folder, PYTHON, 'cpu'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(holder.stdout, 'data')
  holder.kill('SIGKILL')
  await using _held = await lock(folder, ['cpu'])
})

test.each([
  ['removed', async (file: string) => await rm(file)],
  [
    'replaced',
    async (file: string) => {
      // A file system may give the new file the number of the one before.
      await rename(file, `${file}.old`)
      await writeFile(file, '')
    },
  ],
])('a lock whose file is %s is lost, since others now lock another file', async (_, change) => {
  const folder = await aFolder()
  await using first = await lock(folder, ['cpu'])
  const file = join(folder, 'speedproof-cpu.lock')
  await change(file)
  await using _second = await lock(folder, ['cpu'])
  expect(first.facts).toMatchObject({ status: 'lost', reason: `${file} was removed or replaced` })
})

test('one that waits for a lock whose file is removed takes the lock of the new one', async () => {
  const folder = await aFolder()
  const file = join(folder, 'speedproof-cpu.lock')
  const first = await lock(folder, ['cpu'])
  const told: string[] = []
  const waiting = lock(folder, ['cpu'], { onWait: (holder) => told.push(holder) })
  await expect.poll(() => told).toHaveLength(1)
  await rm(file)
  await first[Symbol.asyncDispose]()
  await using second = await waiting
  expect(existsSync(file)).toBe(true)
  expect(second.facts.status).toBe('held')
})

test('a lock whose holder is ended says so, and one that is given back does not', async () => {
  const folder = await aFolder()
  await using first = await lock(folder, ['cpu'])
  const other = await lock(folder, ['GPU-0'])
  await other[Symbol.asyncDispose]()
  expect([first, other].map(({ facts }) => facts.status)).toEqual(['held', 'held'])
  expect(factsOf(first, other)).toBe(first.facts)
  const holders = listProcesses().filter(({ parent, pid }) => parent === process.pid && holds(pid, folder))
  for (const { pid } of holders) process.kill(pid, 'SIGKILL')
  await expect
    .poll(() => first.facts)
    .toEqual({
      status: 'lost',
      waitedSeconds: expect.any(Number),
      waitedFor: null,
      reason: `the process that held ${join(folder, 'speedproof-cpu.lock')} was ended (SIGKILL)`,
    })
  expect(factsOf(other, first)).toBe(first.facts)
  await using second = await lock(folder, ['cpu'])
  expect(second.facts.status).toBe('held')
})

/** Is it a lock.py with a lock in this folder? */
function holds(pid: number, folder: string): boolean {
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  return words.includes('lock.py') && words.includes(folder)
}

test('a cancel ends the waiting', async () => {
  const folder = await aFolder()
  await using _first = await lock(folder, ['cpu'])
  const cancel = new AbortController()
  const second = lock(folder, ['cpu'], { cancelled: cancel.signal, onWait: () => cancel.abort() })
  await expect(second).rejects.toThrow('cancelled during set-up')
})

test('a cancel does not give back what is held', async () => {
  const folder = await aFolder()
  const cancel = new AbortController()
  await using _held = await lock(folder, ['cpu'], { cancelled: cancel.signal })
  cancel.abort()
  const other = await lock(folder, ['cpu'], { limitMinutes: 0.01 })
  expect(other.facts.status).toBe('timed-out')
})

test('another user may lock what we have locked before, and need not be able to write', async () => {
  const folder = await aFolder()
  const file = join(folder, 'speedproof-cpu.lock')
  const held = await lock(folder, ['cpu'])
  await held[Symbol.asyncDispose]()
  expect((await stat(file)).mode & 0o777).toBe(0o666)
  await chmod(file, 0o444)
  await using _held = await lock(folder, ['cpu'])
})

test('a link in the place of a lock is not followed', async () => {
  const folder = await aFolder()
  const target = join(folder, 'precious')
  await writeFile(target, 'text')
  await symlink(target, join(folder, 'speedproof-cpu.lock'))
  await expect(lock(folder, ['cpu'])).rejects.toThrow(`lock: cannot lock in ${folder}`)
  expect(await readFile(target, 'utf8')).toBe('text')
})

test('a folder or an interpreter that is not there is named with its remedy', async () => {
  const folder = join(await aFolder(), 'missing')
  await expect(lock(folder, ['cpu'])).rejects.toThrow(
    `SPEEDPROOF_LOCK_FOLDER: got "${folder}", which does not exist; `,
  )
  await mkdir(folder)
  await expect(lock(folder, ['cpu'], { python: 'no-such-python' })).rejects.toThrow(
    'cannot start "no-such-python"',
  )
})

test('the lock is one for each GPU, and one for a machine without', () => {
  expect(lockNames([aGpu(), aGpu({ index: 1, uuid: 'GPU-../1' })])).toEqual(['GPU-0', 'GPU-___1'])
  expect(lockNames([])).toEqual(['cpu'])
})

test('containers can be given a folder that they share', () => {
  expect(lockFolder({ SPEEDPROOF_LOCK_FOLDER: '/shared' })).toBe('/shared')
  expect(lockFolder({})).toMatch(/^\//)
})
