import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, expect, test } from 'vitest'
import { MARKER_VARIABLE, newMarker, sweep } from '../../../src/io/process/sweep.ts'
import { stillRunning } from '../../fixtures/processes/launching.ts'

const STAY = 'echo ready; exec sleep 600'
const started: number[] = []

afterAll(() => {
  for (const pid of stillRunning(started)) process.kill(pid, 'SIGKILL')
})

/** A shell that ignores SIGTERM; `program` says `ready` when it is. */
async function startMarked(marker: string, program: string): Promise<number> {
  const child = spawn('/bin/sh', ['-c', `trap "" TERM; ${program}`], {
    env: { [MARKER_VARIABLE]: marker, PATH: process.env.PATH },
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  const pid = child.pid ?? 0
  started.push(pid)
  return pid
}

test('ends every process that carries the marker, also without a reaper, and counts them', async () => {
  const marker = newMarker()
  const pids = [await startMarked(marker, STAY), await startMarked(marker, STAY)]
  expect(await sweep(marker)).toBe(2)
  expect(stillRunning(pids)).toEqual([])
})

test('ends a descendant that cleared its environment', async () => {
  const marker = newMarker()
  const parent = await startMarked(marker, `env -i /bin/sh -c '${STAY}' & wait; exec sleep 600`)
  expect(await sweep(marker)).toBe(2)
  expect(stillRunning([parent])).toEqual([])
})

test('leaves processes with another marker, or with the marker as a part of another value', async () => {
  const marker = newMarker()
  const others = [await startMarked(newMarker(), STAY), await startMarked(`${marker}0`, STAY)]
  expect(await sweep(marker)).toBe(0)
  expect(stillRunning(others)).toEqual(others)
})

test('has nothing to do when all is gone', async () => {
  expect(await sweep(newMarker())).toBe(0)
})

test.each(['', ' ', 'speedproof-', 'PATH'])(
  'refuses %j, which could match what is not ours',
  async (marker) => {
    await expect(sweep(marker)).rejects.toThrow('not a run marker')
  },
)
