// Runs without a time to quality -> why, in words: few of them show a mistake, most a model that is not as good.

import type { NoTimeToQuality } from '../../measure/metrics/time-to-quality.ts'
import type { RunSummary } from '../../measure/summary.ts'
import { HELD_OUT_LOSS } from '../../metrics/catalogue.ts'
import { number } from '../../text/numbers.ts'
import { listed } from '../../text/wording.ts'

/** Null where every run has one, or the metric is not a time to quality. */
export function whyNoTimeToQuality(runs: readonly RunSummary[], metric: string): string | null {
  const found = runs.flatMap(({ runId, noTimeToQuality }) => {
    const why = noTimeToQuality[metric]
    return why === undefined ? [] : [{ runId, why }]
  })
  const [first] = found
  if (!first) return null
  const alike = found.filter(({ why }) => why.kind === first.why.kind).length
  return `${alike} of ${runs.length} runs ${textOf(first.why, first.runId)}`
}

function textOf(why: NoTimeToQuality, runId: string): string {
  switch (why.kind) {
    case 'evaluated once':
      return 'were evaluated only at the end. Evaluate during the training too'
    case 'misplaced': {
      const { step, samples_seen } = why.evaluation
      return `have a misplaced evaluation: ${runId} reports ${samples_seen} samples at step ${step}, which are not those of its first ${step} steps. Count optimizer steps in step`
    }
    case 'no parts':
      return `have a baseline without parts. Report ${HELD_OUT_LOSS}/<part> in metrics of evaluation`
    case 'other parts': {
      const differences = [
        ...(why.missing.length > 0 ? [`does not report ${listed(why.missing, MOST_NAMES)}`] : []),
        ...(why.further.length > 0 ? [`reports ${listed(why.further, MOST_NAMES)} in addition`] : []),
      ]
      return `end with other parts than their baseline: ${runId} ${differences.join(' and ')}`
    }
    case 'ends above':
      return `end with a higher held-out loss than their baseline: ${runId} at ${listed(why.losses.map(lossText), MOST_NAMES)}`
  }
}

const MOST_NAMES = 6

/** In so many digits any two doubles differ. */
const ENOUGH_DIGITS = 17

/** With as many digits as tell the two apart. */
function lossText({ name, value, limit }: { name: string; value: number; limit: number }): string {
  let digits = 4
  while (digits < ENOUGH_DIGITS && number(value, digits) === number(limit, digits)) digits += 1
  return `${name} ${number(value, digits)} (baseline ${number(limit, digits)})`
}
