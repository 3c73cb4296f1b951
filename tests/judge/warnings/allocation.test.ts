import { expect, test } from 'vitest'
import { allocationWarnings } from '../../../src/judge/warnings/allocation.ts'
import { aRunSummary } from '../../fixtures/builders.ts'

test('a run whose allocator had to try again is named', () => {
  const runs = [undefined, 0, 2].map((retries, index) =>
    aRunSummary({
      runId: `run-${index}`,
      metrics: retries === undefined ? {} : { allocation_retries: retries },
    }),
  )
  expect(allocationWarnings({ measured: runs })).toEqual([
    expect.stringMatching(/^run-2: .*allocator.*2 times.* less memory$/),
  ])
})
