import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { RunError } from '../../../src/errors.ts'
import { listProcesses } from '../../../src/io/process/process-table.ts'
import { supervise } from '../../../src/io/process/supervisor.ts'
import { MARKER_VARIABLE, newMarker, sweepAfterReaper } from '../../../src/io/process/sweep.ts'
import {
  aFolder,
  aLaunch,
  FAMILY,
  isLocked,
  notCancelled,
  PYTHON,
  pidsIn,
  ROOT,
  run,
  stillRunning,
} from '../../fixtures/processes/launching.ts'

const REAPER = join(ROOT, 'src', 'io', 'process', 'reaper.py')
const FORKING = join(ROOT, 'tests', 'fixtures', 'processes', 'forks_without_pause.py')
const KINDS = ['ignores-sigterm', 'own-session', 'no-environment', 'double-fork', 'dead-first-thread']

async function untilGone(pids: readonly number[]): Promise<void> {
  while (stillRunning(pids).length > 0) await sleep(20)
}

describe.concurrent.each(KINDS)('a child of the kind %s', (kind) => {
  test('does not outlive a cancel', async ({ expect }) => {
    const cancel = new AbortController()
    let lines = 0
    const { end, log } = await run(
      { command: [PYTHON, FAMILY, kind] },
      {
        cancelled: cancel.signal,
        onLine: () => {
          lines++
          if (lines === 2) cancel.abort()
        },
      },
    )
    expect(end).toMatchObject({ status: 'cancelled' })
    expect(pidsIn(log)).toHaveLength(2)
    expect(stillRunning(pidsIn(log))).toEqual([])
  })

  test('does not outlive a command that ends without it', async ({ expect }) => {
    const { end, log } = await run({ command: [PYTHON, FAMILY, kind, 'parent-ends'] })
    expect(end).toMatchObject({ status: 'exited', exitCode: 0 })
    expect(pidsIn(log)).toHaveLength(2)
    expect(stillRunning(pidsIn(log))).toEqual([])
  })
})

describe.concurrent.each(['in-one-session', 'in-new-sessions'])(
  'what forks and exits without pause, %s',
  (how) => {
    test('does not outlive a command that ends without it', async ({ expect }) => {
      const lock = join(await aFolder(), 'lock')
      const { end, log } = await run({ command: [PYTHON, FORKING, how, lock] })
      expect(log).toBe('locked\n')
      expect(end).toMatchObject({ status: 'exited', exitCode: 0 })
      expect(await isLocked(lock)).toBe(false)
    })

    test('does not outlive a cancel', async ({ expect }) => {
      const lock = join(await aFolder(), 'lock')
      const cancel = new AbortController()
      const stay = '"$@"; exec sleep 600'
      const { end } = await run(
        { command: ['sh', '-c', stay, 'sh', PYTHON, FORKING, how, lock] },
        { cancelled: cancel.signal, onLine: () => cancel.abort() },
      )
      expect(end).toMatchObject({ status: 'cancelled' })
      expect(await isLocked(lock)).toBe(false)
    })

    test('does not outlive a sweep after node was killed', async ({ expect }) => {
      const [folder, lock] = [await aFolder(), join(await aFolder(), 'lock')]
      const script = join(ROOT, 'tests', 'fixtures', 'processes', 'supervise-here.ts')
      const command = [PYTHON, 'sh', '-c', '"$@"; exec sleep 600', 'sh', PYTHON, FORKING, how, lock]
      const node = spawn(process.execPath, [script, folder, ...command], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const lines: string[] = []
      for await (const line of createInterface({ input: node.stdout })) if (lines.push(line) === 2) break
      node.kill('SIGKILL')
      await once(node, 'exit')
      expect(await sweepAfterReaper(lines[0] ?? '')).toMatchObject({ mayBeLeft: false })
      expect(await isLocked(lock)).toBe(false)
    })
  },
)

test('where no reaper is left, what a sweep cannot see may be', async () => {
  const marker = newMarker()
  const child = spawn('sleep', ['600'], { env: { ...process.env, [MARKER_VARIABLE]: marker } })
  await once(child, 'spawn')
  expect(await sweepAfterReaper(marker)).toEqual({ ended: 1, mayBeLeft: true })
})

test('a reaper that gives up over what it cannot end counts as unclean', async () => {
  // What stands in for the reaper says all but the last word.
  const reaper = '#!/bin/sh\necho starting >&3; echo ended >&3\n'
  const python = join(await aFolder(), 'python')
  await writeFile(python, reaper, { mode: 0o755 })
  const launch = await aLaunch({ python })
  await expect(supervise(launch, { cancelled: notCancelled() })).rejects.toThrow('may be left')
})

test.each(['plain', 'no-environment'])('nothing is left when node itself is killed: %s', async (kind) => {
  const folder = await aFolder()
  const script = join(ROOT, 'tests', 'fixtures', 'processes', 'supervise-here.ts')
  const node = spawn(process.execPath, [script, folder, PYTHON, PYTHON, FAMILY, kind], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const pids: number[] = []
  for await (const line of createInterface({ input: node.stdout })) {
    pids.push(...pidsIn(line))
    if (pids.length === 2) break
  }
  const reapers = listProcesses()
    .filter(({ parent }) => parent === node.pid)
    .map(({ pid }) => pid)
  expect(stillRunning([...pids, ...reapers])).toHaveLength(3)

  node.kill('SIGKILL')
  await once(node, 'exit')

  await untilGone([...pids, ...reapers])
})

test('nothing is left when the reaper is stopped and cannot end anything', async () => {
  const cancel = new AbortController()
  const { end, log } = await run(
    // The shell stops its parent, the reaper.
    { command: ['sh', '-c', 'kill -STOP $PPID; echo "pid $$"; trap "" TERM; while :; do sleep 1; done'] },
    { cancelled: cancel.signal, onLine: () => cancel.abort() },
  )
  expect(end).toMatchObject({ status: 'cancelled' })
  expect(stillRunning(pidsIn(log))).toEqual([])
})

test('a command that kills the reaper is ended, and may have left what nobody finds', async () => {
  const launch = await aLaunch({ command: ['sh', '-c', 'echo "pid $$"; kill -KILL $PPID; sleep 600'] })
  const ended = supervise(launch, { cancelled: notCancelled() })
  await expect(ended).rejects.toThrow(RunError)
  await expect(ended).rejects.toThrow('a process of the training may be left: reaper.py')
  const pids = pidsIn(await readFile(launch.logFile, 'utf8'))
  expect(pids).toHaveLength(1)
  expect(stillRunning(pids)).toEqual([])
})

test('so may a child that kills the reaper while it ends the children of a command that is over', async () => {
  const launch = await aLaunch({
    command: ['sh', '-c', 'trap "" TERM; (sleep 1; kill -KILL $PPID; exec env -i sleep 3) & exit 0'],
  })
  await expect(supervise(launch, { cancelled: notCancelled() })).rejects.toThrow('may be left')
})

test('a command that is killed itself leaves nothing', async () => {
  const { end } = await run({ command: ['sh', '-c', 'kill -KILL $$'] })
  expect(end).toMatchObject({ status: 'signalled', signal: 'SIGKILL' })
})

test('a reaper whose parent died before it looked starts nothing', async () => {
  const folder = await aFolder()
  const nobody = '4194304' // above the highest process id of Linux
  const control = join(folder, 'control')
  const shell = `exec 3> "${control}"; exec "${PYTHON}" -I -S "${REAPER}" ${nobody} touch "${folder}/started"`
  const [code] = await once(spawn('sh', ['-c', shell]), 'exit')
  expect(code).toBe(127)
  expect(await readFile(control, 'utf8')).toBe('')
})
