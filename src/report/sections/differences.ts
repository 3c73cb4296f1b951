// In what the variants differ: what was declared, and what their trainings read back.
import type { RunSummary } from '../../measure/summary.ts'
import { isMeasured } from '../../plan/plan.ts'
import type { Result } from '../../record/result.ts'
import { ownValue } from '../../text/own-value.ts'
import { escapeCell } from '../escape.ts'
import { folded, type Section, table } from '../section.ts'
import { settingText } from '../setting.ts'

export const differencesSection: Section = (result) => ({
  kind: 'details',
  title: 'differences',
  markdown: folded(
    `What differs between the variants: ${result.differences.length} ${result.differences.length === 1 ? 'setting' : 'settings'}`,
    `${differencesTable(result)}${speedKeysText(result)}`,
  ),
})

function differencesTable(result: Result): string {
  return table([
    DIFFERENCES_HEAD,
    ...differenceRows(result).map((row) => row.map((cell) => escapeCell(cell))),
  ])
}

export const DIFFERENCES_HEAD = ['setting', 'baseline', 'optimized']

/** Untrusted texts, as they are. */
export function differenceRows({ differences, runs }: Result): string[][] {
  const declared = differences.map(({ key, baseline, optimized }) => [key, baseline, optimized] as const)
  const effective = effectiveDifferences(runs).map(
    ([key, baseline, optimized]) => [`effective: ${key}`, baseline, optimized] as const,
  )
  return [...declared, ...effective].map(([key, ...values]) => [key, ...values.map(settingText)])
}

/** What may differ besides speed: is the word of who wrote the experiment. */
function speedKeysText({ experiment }: Result): string {
  const { speed_keys: keys = [] } = experiment.trainer
  if (keys.length === 0) return ''
  const names = keys.map((key) => escapeCell(key)).join(', ')
  return `\n\nThe experiment says that these change only speed, so that they may differ: ${names}`
}

/** What is really on, as the measured trainings read it back; only what differs. */
function effectiveDifferences(runs: readonly RunSummary[]): [string, unknown, unknown][] {
  const [baseline, optimized] = (['baseline', 'optimized'] as const).map(
    (variant) => runs.find((run) => run.variant === variant && isMeasured(run))?.effective ?? {},
  )
  const keys = [...new Set([...Object.keys(baseline ?? {}), ...Object.keys(optimized ?? {})])]
  return keys
    .filter((key) => ownValue(baseline, key) !== ownValue(optimized, key))
    .map((key) => [key, ownValue(baseline, key), ownValue(optimized, key)])
}
