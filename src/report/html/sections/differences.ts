// In what the variants differ: what was declared, and what their trainings read back.
import { DIFFERENCES_HEAD, differenceRows } from '../../sections/differences.ts'
import { html } from '../html.ts'
import type { HtmlSection } from '../section.ts'
import { htmlTable } from '../table.ts'

export const differencesHtml: HtmlSection = ({ result }, _, { rows }) => {
  const { speed_keys: keys = [] } = result.experiment.trainer
  return {
    title: 'Differences between the variants',
    body: html`${htmlTable({ label: 'Differences', head: DIFFERENCES_HEAD, rows: differenceRows(result) }, rows)}
${keys.length === 0 ? '' : html`<p class="note">The experiment says that these change only speed, so that they may differ: ${keys.join(', ')}</p>`}`,
    charts: [],
  }
}
