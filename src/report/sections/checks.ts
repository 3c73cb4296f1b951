// Every check, with what it found.
import type { Check } from '../../judge/checks/check.ts'
import { statusText } from '../../text/wording.ts'
import { escapeCell } from '../escape.ts'
import { ruleLink } from '../rules.ts'
import { folded, type Section, table } from '../section.ts'

export const checksSection: Section = ({ verdict }) => ({
  kind: 'details',
  title: 'checks',
  markdown: folded(`Checks of comparability: ${countsText(verdict.checks)}`, checksTable(verdict.checks)),
})

/** Such as "7 passed, 1 not measured". */
export function countsText(checks: readonly { readonly status: string }[]): string {
  const counts = Map.groupBy(checks, ({ status }) => status)
  return [...counts].map(([status, those]) => `${those.length} ${statusText(status)}`).join(', ')
}

function checksTable(checks: readonly Check[]): string {
  const rows = table([
    ['check', 'state', 'detail'],
    ...checks.map(({ name, status, detail }) => [name, statusText(status), escapeCell(detail, 600)]),
  ])
  return `${rows}\n\n${ruleLink('What each check asks', 'checks')}`
}
