import { expect, test } from 'vitest'
import { ReportClock } from '../../../src/io/process/report-clock.ts'

test('it knows when the last report came, and the longest time between two', () => {
  let now = 5000
  const clock = new ReportClock(() => now)
  expect(clock.reports).toBeUndefined()
  for (now of [65_000, 66_000, 76_000, 77_000]) clock.event()
  expect(clock.reports).toEqual({ lastSeconds: 72, longestGapSeconds: 10 })
})
