// What got longer and what got shorter, one bar a row, largest first.
import { rounded } from '../../../text/numbers.ts'
import { shortened } from '../../../text/wording.ts'
import { type Html, html, NOTHING } from '../html.ts'

export interface Change {
  readonly name: string
  /** Above 0 it got longer. */
  readonly value: number
  readonly text: string
}

const WIDTH = 720
const [LEFT, RIGHT] = [270, WIDTH - 100]
const [ROW_HEIGHT, BAR_HEIGHT] = [24, 14]
const MOST_NAME = 26

/** Nothing where nothing changed. */
export function changesPlot(title: string, changes: readonly Change[]): Html {
  const [least, most] = [
    Math.min(0, ...changes.map(({ value }) => value)),
    Math.max(0, ...changes.map(({ value }) => value)),
  ]
  if (!(most > least)) return NOTHING
  const x = (value: number) => rounded(LEFT + ((value - least) / (most - least)) * (RIGHT - LEFT), 5)
  const height = changes.length * ROW_HEIGHT + 4
  return html`<figure><figcaption><b>${title}</b> <span class="legend"><span><i class="swatch longer"></i>longer</span><span><i class="swatch shorter"></i>shorter</span></span></figcaption>
<svg class="rungs" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}. The table has the numbers.">
${changes.map((change, index) => row(change, index * ROW_HEIGHT, x))}
<line class="axis" x1="${x(0)}" x2="${x(0)}" y1="0" y2="${height}"/>
</svg></figure>`
}

function row({ name, value, text }: Change, y: number, x: (value: number) => number): Html {
  const [from, to] = [x(Math.min(0, value)), x(Math.max(0, value))]
  return html`<text x="0" y="${y + 17}">${shortened(name.replace(/^void /, ''), MOST_NAME)}<title>${name}</title></text><rect class="${value > 0 ? 'longer' : 'shorter'}" x="${from}" y="${y + 5}" width="${rounded(to - from, 5)}" height="${BAR_HEIGHT}"><title>${name}: ${text}</title></rect><text x="${WIDTH}" y="${y + 17}" text-anchor="end">${text}</text>`
}
