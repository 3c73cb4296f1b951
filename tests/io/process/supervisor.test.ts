import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startReaper } from '../../../src/io/process/launch-reaper.ts'
import { hasVariable, listProcesses } from '../../../src/io/process/process-table.ts'
import { supervise } from '../../../src/io/process/supervisor.ts'
import { MARKER_VARIABLE, newMarker } from '../../../src/io/process/sweep.ts'
import {
  aFolder,
  aLaunch,
  FAMILY,
  notCancelled,
  PYTHON,
  pidsIn,
  run,
  stillRunning,
} from '../../fixtures/processes/launching.ts'

const python = (program: string) => [PYTHON, '-c', program]

function runningWith(marker: string): number[] {
  return listProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => hasVariable(pid, MARKER_VARIABLE, marker))
}

test('a command that ends well has exited with 0', async () => {
  const { end } = await run({ command: ['true'] })
  expect(end).toEqual({ status: 'exited', exitCode: 0, wallSeconds: expect.any(Number) })
})

test('the exit code of a command is kept', async () => {
  const { end } = await run({ command: ['sh', '-c', 'exit 7'] })
  expect(end).toMatchObject({ status: 'exited', exitCode: 7 })
})

test.each(['SIGKILL', 'SIGSEGV', 'SIGTERM'])('a command that dies by %s is signalled', async (signal) => {
  const { end } = await run({ command: ['sh', '-c', `kill -${signal.slice(3)} $$`] })
  expect(end).toMatchObject({ status: 'signalled', signal })
})

test('the log holds both streams in the order they were written', async () => {
  const { log } = await run({ command: ['sh', '-c', 'echo 1; echo 2 >&2; echo 3; printf 4 >&2'] })
  expect(log).toBe('1\n2\n3\n4')
})

test('the live view gets sanitised lines, the unterminated last one too', async () => {
  const lines: string[] = []
  await run({ command: ['printf', '::error::a\\n##[b]'] }, { onLine: (line) => lines.push(line) })
  expect(lines).toEqual(['│ ::error::a', '│ # #[b]'])
})

test('the command sees the given environment and the marker alone', async () => {
  let marker = ''
  const { log } = await run(
    { command: ['/usr/bin/env'], environment: { LANG: 'C.UTF-8', GIVEN: 'yes' } },
    {
      onStart: (given) => {
        marker = given
      },
    },
  )
  expect(log.trim().split('\n').sort()).toEqual(['GIVEN=yes', 'LANG=C.UTF-8', `${MARKER_VARIABLE}=${marker}`])
})

test('the command starts with no signal blocked or ignored', async () => {
  const { log } = await run({ command: ['grep', '-E', '^Sig(Blk|Ign)', '/proc/self/status'] })
  // 32 and 33 are the C library's own.
  expect(log).toMatch(/SigBlk:\t0+\nSigIgn:\t0+(18)?0+\n/)
})

test('the marker is given before any process exists', async () => {
  let before: number[] = [-1]
  await run(
    {},
    {
      onStart: (marker) => {
        before = runningWith(marker)
      },
    },
  )
  expect(before).toEqual([])
})

test.each<[string, Parameters<typeof run>[0], RegExp]>([
  ['program', { command: ['no-such-program'] }, /"no-such-program": No such file or directory/],
  ['interpreter', { python: 'no-such-python' }, /"no-such-python".*ENOENT.*Python 3\.10/],
  ['working directory', { workingDirectory: '/no/such/folder' }, /"\/no\/such\/folder".*no such folder/],
  ['folder for the log', { logFile: '/no/such/folder/log.txt' }, /log file.*\/no\/such\/folder\/log\.txt/],
])('a missing %s is not started, with a message that names it', async (_, difference, message) => {
  const { end } = await run(difference)
  expect(end).toEqual({ status: 'not-started', message: expect.stringMatching(message) })
})

test('an interpreter that is no Python does not pass for a command that ended well', async () => {
  const { end } = await run({ python: 'true' })
  expect(end).toMatchObject({
    status: 'not-started',
    message: expect.stringMatching(/^"true" ended with exit code 0 .* \S+log\.txt$/),
  })
})

test('a log is not named where none is kept', async () => {
  const { command, workingDirectory, environment } = await aLaunch({})
  const reaper = await startReaper({ command, workingDirectory, environment, python: 'true' }, newMarker())
  expect(reaper.status === 'running' && (await reaper.end)).toMatchObject({
    status: 'not-started',
    message: expect.stringMatching(/^"true" ended with exit code 0 .* Python 3\.10 or newer$/),
  })
})

test('a command that takes too long is timed out and gone', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  let lines = 0
  const onLine = () => {
    lines++
    if (lines === 2) vi.advanceTimersByTime(50_000)
  }
  const { end, log } = await run({ command: [PYTHON, FAMILY, 'plain'], timeoutSeconds: 50 }, { onLine })
  expect(end).toMatchObject({ status: 'timed-out' })
  expect(pidsIn(log)).toHaveLength(2)
  expect(stillRunning(pidsIn(log))).toEqual([])
})

test('a timeout beyond the longest timer of node does not fire at once', async () => {
  const { end } = await run({ command: ['sleep', '0.3'], timeoutSeconds: 1e9 })
  expect(end).toMatchObject({ status: 'exited', exitCode: 0 })
})

test('a command may end by itself on the SIGTERM of a cancel', async () => {
  const cancel = new AbortController()
  const program = `import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('saved')))
print('ready', flush=True)
time.sleep(600)`
  const { end, log } = await run(
    { command: python(program) },
    { cancelled: cancel.signal, onLine: () => cancel.abort() },
  )
  expect(end).toMatchObject({ status: 'cancelled' })
  expect(log).toBe('ready\nsaved\n')
})

test('nothing is started after a cancel', async () => {
  const folder = await aFolder()
  const { end } = await run(
    { command: ['touch', join(folder, 'started')] },
    { cancelled: AbortSignal.abort() },
  )
  expect(end).toEqual({ status: 'cancelled', wallSeconds: 0 })
  await expect(stat(join(folder, 'started'))).rejects.toThrow('ENOENT')
})

test('a live view that throws is reported, and the command is gone', async () => {
  const lines: string[] = []
  const launch = await aLaunch({ command: [PYTHON, FAMILY, 'plain'] })
  const onLine = (line: string) => {
    lines.push(line)
    if (lines.length === 2) throw new Error('our bug')
  }
  await expect(supervise(launch, { cancelled: notCancelled(), onLine })).rejects.toThrow('our bug')
  expect(stillRunning(pidsIn(lines.join('\n')))).toEqual([])
})

test('100 MB of output are all in the log and take little memory', async () => {
  const launch = await aLaunch({
    command: ['sh', '-c', 'yes "a line of a chatty trainer" | head -c 100000000'],
  })
  const before = process.memoryUsage().rss
  let most = before
  const sampling = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss)
  }, 20)
  const end = await supervise(launch, { cancelled: notCancelled() })
  clearInterval(sampling)
  expect(end).toMatchObject({ status: 'exited', exitCode: 0 })
  expect((await stat(launch.logFile)).size).toBe(100_000_000)
  expect(most - before).toBeLessThan(80e6)
})
