// The end of progress: what is still on its way has arrived before the result is told.
import { expect, it, vi } from 'vitest'
import { LiveReport } from '../../../../src/io/github/report/live-report.ts'
import { HEAD_SHA } from '../../../harness/events.ts'

const written = vi.hoisted(() => Promise.withResolvers<{ status: string }>())
const upsertComment = vi.hoisted(() => vi.fn(() => written.promise))
vi.mock('../../../../src/io/github/report/comment.ts', () => ({ upsertComment }))
vi.mock('../../../../src/io/github/report/check-run.ts', () => ({ upsertCheck: () => written.promise }))

const PLACE = {
  ...{ owner: 'octo-lab', repo: 'solver', token: 'job-token', key: 'faulty/measure', checkName: 'faulty' },
  ...{ headSha: HEAD_SHA, runId: 1001, runAttempt: 1, runUrl: 'https://github.com', pull: null },
}

it('is waited for, unless the step is cancelled and has no time', async () => {
  const live = new LiveReport(PLACE)
  live.tell('launch 1 of at most 2')
  await live.close(AbortSignal.abort())

  const order: string[] = []
  const closed = live.close(new AbortController().signal).then(() => order.push('closed'))
  // Long after the time that a cancelled step gives it.
  const later = new Promise((settle) => setTimeout(settle, 2500)).then(() => order.push('written'))
  await later
  written.resolve({ status: 'created' })
  await closed
  expect(order).toEqual(['written', 'closed'])
})

it.each([
  ['once, however long it lasts', 'updated', 2],
  ['until it arrives', 'failed', 4],
])('writes a text that says the same %s', async (_, status, writes) => {
  vi.useFakeTimers({ toFake: ['performance'] })
  upsertComment.mockReset().mockResolvedValue({ status })
  const live = new LiveReport(PLACE)
  for (const text of ['launch 1', 'launch 1', 'launch 1', 'launch 2']) {
    live.tell(text)
    await new Promise(setImmediate)
    vi.advanceTimersByTime(60_000)
  }
  vi.useRealTimers()
  expect(upsertComment).toHaveBeenCalledTimes(writes)
})
