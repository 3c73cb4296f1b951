// Are the files under `data:` those of both variants, and did they stay the same from the first launch to the last?
import { VARIANTS } from '../../../config/experiment.ts'
import { listed } from '../../../text/wording.ts'
import type { VerdictInput } from '../../verdict-input.ts'
import type { Check } from '../check.ts'

/** Nothing where the experiment names no data. */
export function checkData({ experiment, data = null }: Pick<VerdictInput, 'experiment' | 'data'>): Check[] {
  if (experiment.data === undefined) return []
  const found = (status: Check['status'], detail: string): Check[] => [{ name: 'same data', status, detail }]
  const files = listed(experiment.data)
  if (data === null) return found('inconclusive', `the files under data: were not hashed: ${files}`)
  const { before, after, changed } = data
  if (before.baseline !== before.optimized)
    return found(
      'failed',
      `the files under data: differ between the working directories of the variants (${files}). Share them with launch.shared_paths`,
    )
  if (after === null)
    return found('inconclusive', `the files under data: were not hashed after the last launch: ${files}`)
  const differs = VARIANTS.some((variant) => before[variant] !== after[variant])
  return differs
    ? found(
        'failed',
        `the files under data: changed between the first launch and the last (${listed(changed)}). Measure again without changing them, and name no file that the training writes`,
      )
    : found('passed', `the files under data: are the same before and after all launches: ${files}`)
}
