// A table of the page: wide ones scroll in themselves, long ones are cut, and say so.
import { type Html, type HtmlValue, html, NOTHING } from './html.ts'

export interface TableText {
  /** What it lists, for a reader who cannot see it. */
  readonly label: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly HtmlValue[])[]
}

export function htmlTable({ label, head, rows }: TableText, mostRows: number): Html {
  const shown = rows.slice(0, mostRows)
  const left = rows.length - shown.length
  const rest = left === 0 ? NOTHING : html`<p class="note">${left} more rows are in result.json.</p>`
  return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0"><table>
<thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
<tbody>${shown.map(rowOf)}</tbody>
</table></div>${rest}`
}

function rowOf([first = '', ...cells]: readonly HtmlValue[]): Html {
  return html`<tr><th scope="row">${first}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>\n`
}

/** Behind a picture, which not everybody can see. */
export function tableBehind(title: string, table: TableText, mostRows: number): Html {
  return html`<details class="behind"><summary>${title}</summary>${htmlTable(table, mostRows)}</details>`
}
