// What a total is made of, one bar a variant, in shapes that a browser draws without a script.
import { VARIANTS, type Variant } from '../../../config/experiment.ts'
import { percent, rounded } from '../../../text/numbers.ts'
import { type Html, html } from '../html.ts'
import { type TableText, tableBehind } from '../table.ts'

export interface BarPart {
  readonly name: string
  /** Of the style: its colour. */
  readonly tone: string
  /** Null where the variant has no bar. */
  readonly values: Readonly<Record<Variant, number | null>>
}

export interface StackedBars {
  readonly title: string
  readonly parts: readonly BarPart[]
  readonly valueText: (value: number) => string
  /** Of a variant that has no bar. */
  readonly whyNone: string
}

const WIDTH = 640
const [BAR_X, BAR_HEIGHT, ROW_HEIGHT] = [116, 22, 34]
const ROOM_FOR_TOTAL = 84

export function stackedBars(bars: StackedBars, table: TableText, mostRows: number): Html {
  const { title, parts } = bars
  const longest = Math.max(...VARIANTS.map((variant) => totalOf(parts, variant)))
  return html`<figure><figcaption><b>${title}</b> <span class="legend">${parts.map(({ name, tone }) => html`<span><i class="swatch ${tone}"></i>${name}</span>`)}</span></figcaption>
<svg class="parts" viewBox="0 0 ${WIDTH} ${VARIANTS.length * ROW_HEIGHT}" role="img" aria-label="${title}. The table has the numbers.">
${VARIANTS.map((variant, index) => bar(bars, variant, index * ROW_HEIGHT, longest))}
</svg>
${tableBehind('Table of this chart', table, mostRows)}</figure>`
}

function bar({ parts, valueText, whyNone }: StackedBars, variant: Variant, y: number, longest: number): Html {
  const room = WIDTH - BAR_X - ROOM_FOR_TOTAL
  const total = totalOf(parts, variant)
  let x = BAR_X
  const segments = parts.map(({ name, tone, values }) => {
    const value = values[variant] ?? 0
    const width = longest > 0 ? (value / longest) * room : 0
    const from = x
    x += width
    if (!(width > 0)) return null
    return html`<rect class="${tone}" x="${rounded(from, 5)}" y="${y + 6}" width="${rounded(width, 5)}" height="${BAR_HEIGHT}"><title>${name}: ${valueText(value)} (${percent(value / total)})</title></rect>`
  })
  const isThere = parts.some(({ values }) => values[variant] !== null)
  return html`<text x="0" y="${y + 22}">${variant}</text>${segments}<text x="${rounded(x + 6, 5)}" y="${y + 22}">${isThere ? valueText(total) : whyNone}</text>`
}

function totalOf(parts: readonly BarPart[], variant: Variant): number {
  return parts.reduce((total, { values }) => total + (values[variant] ?? 0), 0)
}
