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
    'run-2: the allocator had to free its cache and try again (2 times on a rank), which stalls the GPU; use less memory',
  ])
})
