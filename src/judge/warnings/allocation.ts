// Runs whose allocator ran short of memory: each retry empties its cache and stalls the GPU.
import { ALLOCATION_RETRIES } from '../../metrics/catalogue.ts'
import type { Warning } from './warning.ts'

/** Such a run is slower than its training is; it counts, since the same memory is short in every run. */
export const allocationWarnings: Warning<'measured'> = ({ measured }) => {
  return measured.flatMap(({ runId, metrics: { [ALLOCATION_RETRIES]: retries = 0 } }) =>
    retries > 0
      ? [
          `${runId}: the allocator had to free its cache and try again (${retries} times on a rank), which stalls the GPU and makes the run slower. Use less memory`,
        ]
      : [],
  )
}
