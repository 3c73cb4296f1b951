// What a pull request changes in the configs of its variants, as the report of a privileged job shows it.
import { markdownTable } from 'markdown-table'
import type { Variant } from '../../config/experiment.ts'
import type { Difference } from '../../config/same-work/differences.ts'
import { escapeCell } from '../escape.ts'
import { settingText } from '../setting.ts'
import type { CommentSection } from './comment.ts'

export type ChangedConfig =
  | {
      readonly variant: Variant
      readonly status: 'compared'
      /** `baseline` is what the base branch has, `optimized` what was measured. */
      readonly changes: readonly Difference[]
      readonly extent: ComparedExtent
    }
  | { readonly variant: Variant; readonly status: 'unknown'; readonly reason: string }

/** Where a trainer resolves its config, what it adds by itself is on one side only, and no key of the branch. */
export type ComparedExtent =
  | { readonly of: 'everything' }
  | { readonly of: 'the file, and what it names' }
  | { readonly of: 'common keys'; readonly reason: string }

const MOST_ROWS = 50

/** A line that always stays, and the settings below it; nothing where both are as on the branch. */
export function changedConfigsSections(branch: string, configs: readonly ChangedConfig[]): CommentSection[] {
  const changes = configs.flatMap((one) =>
    one.status === 'compared' ? one.changes.map((change) => ({ variant: one.variant, ...change })) : [],
  )
  const isUnknown = configs.some((one) => one.status === 'unknown' || one.extent.of === 'common keys')
  if (changes.length === 0 && !isUnknown) return []
  const line: CommentSection = {
    kind: 'link',
    title: 'changed configs',
    markdown: `${changes.length > 0 ? '⚠️ ' : ''}Configs, compared with ${escapeCell(branch)}: ${configs.map(textOf).join('; ')}.`,
  }
  if (changes.length === 0) return [line]
  const rows = changes
    .slice(0, MOST_ROWS)
    .map(({ variant, key, baseline, optimized }) =>
      [variant, key, settingText(baseline), settingText(optimized)].map((cell) => escapeCell(cell)),
    )
  const more = changes.length > MOST_ROWS ? `\n\nand ${changes.length - MOST_ROWS} more` : ''
  const table = markdownTable([['variant', 'setting', escapeCell(branch), 'measured with'], ...rows])
  const title = 'what the pull request changes in the configs'
  const markdown = `<details><summary>What the pull request changes in the configs</summary>\n\n${table}${more}\n\n</details>`
  return [line, { kind: 'details', title, markdown }]
}

function textOf(one: ChangedConfig): string {
  if (one.status === 'unknown') return `${one.variant} was not compared (${escapeCell(one.reason)})`
  const { length } = one.changes
  const only = one.extent.of === 'common keys' ? ` (${escapeCell(one.extent.reason)})` : ''
  if (length > 0)
    return `${one.variant} has ${length === 1 ? 'one other setting' : `${length} other settings`}${only}`
  if (one.extent.of === 'everything') return `${one.variant} is the same`
  return one.extent.of === 'common keys'
    ? `${one.variant} was compared only in the keys that both have${only}`
    : `${one.variant} has the same file, and no other value of what it names`
}
