import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runShort } from '../../../src/io/process/short-command.ts'
import { aFolder, FAMILY, notCancelled, PYTHON } from '../../fixtures/processes/launching.ts'
import { processesIn } from '../../harness/processes.ts'

const run = async (command: string[], cancelled = notCancelled()) =>
  await runShort(command, await aFolder(), { PATH: process.env.PATH ?? '' }, cancelled)

test('a command answers with its exit code and both streams', async () => {
  expect(await run(['sh', '-c', 'echo out; echo err >&2; exit 7'])).toEqual({
    status: 'ended',
    exitCode: 7,
    stdout: 'out\n',
    stderr: 'err\n',
  })
})

test('a command that a signal ends has not succeeded', async () => {
  expect(await run(['sh', '-c', 'kill -KILL $$'])).toMatchObject({ status: 'ended', exitCode: 128 })
})

test('a program that is not there gives no answer', async () => {
  expect(await run(['no-such-program'])).toEqual({
    status: 'no-answer',
    message: expect.stringContaining('no-such-program'),
  })
})

test('nothing is started after a cancel', async () => {
  await expect(run(['touch', join(await aFolder(), 'started')], AbortSignal.abort())).rejects.toThrow(
    'cancelled during set-up',
  )
})

test('a cancel ends the command and what it has started', async () => {
  const folder = await aFolder()
  const cancel = new AbortController()
  const ended = runShort([PYTHON, FAMILY, 'ignores-sigterm'], folder, {}, cancel.signal)
  await expect.poll(() => processesIn(folder).length).toBe(2)
  cancel.abort()
  await expect(ended).rejects.toThrow('cancelled during set-up')
  await expect.poll(() => processesIn(folder)).toEqual([])
})
