import { expect, it } from 'vitest'
import { isOverdue, isRemembered, type ServerRun } from '../../src/cloud/overdue.ts'

const NOW = new Date('2026-11-29T12:00:00Z')

function aRun(minutes: number, difference: Partial<ServerRun> = {}): ServerRun {
  const submittedAt = new Date(NOW.getTime() - minutes * 60_000)
  return { name: 'speedproof-1001-1', status: 'running', submittedAt, maxSeconds: 3600, ...difference }
}

it('a run is overdue when start, run and stop have all had their time', () => {
  expect(isOverdue(aRun(101), NOW)).toBe(false)
  expect(isOverdue(aRun(103), NOW)).toBe(true)
})

it('a run whose limit somebody has removed is overdue as if it had none to run in', () => {
  expect(isOverdue(aRun(43, { maxSeconds: null }), NOW)).toBe(true)
})

it.each(['training', 'speedproof', 'speedproof-1001', 'speedproof-nightly-1', 'my-speedproof-1001-1'])(
  'nothing else on the server is touched: %s',
  (name) => {
    expect(isOverdue(aRun(1e6, { name }), NOW)).toBe(false)
    expect(isRemembered(aRun(10, { name, status: 'done' }), NOW)).toBe(false)
  },
)

it.each(['terminated', 'failed', 'done'])('a run that is %s is asked after for three days', (status) => {
  expect(isOverdue(aRun(1e6, { status }), NOW)).toBe(false)
  expect(isRemembered(aRun(60, { status }), NOW)).toBe(true)
  expect(isRemembered(aRun(4 * 24 * 60, { status }), NOW)).toBe(false)
})
