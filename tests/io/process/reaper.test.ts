import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { RunError } from '../../../src/errors.ts'
import { listProcesses } from '../../../src/io/process/process-table.ts'
import { supervise } from '../../../src/io/process/supervisor.ts'
import {
  aFolder,
  aLaunch,
  FAMILY,
  notCancelled,
  PYTHON,
  pidsIn,
  ROOT,
  run,
  stillRunning,
} from '../../fixtures/processes/launching.ts'

const REAPER = join(ROOT, 'src', 'io', 'process', 'reaper.py')
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
