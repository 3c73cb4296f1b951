// Where the time of a run goes: set-up, steps, evaluations and the rest as stacked bars.
import { VARIANTS } from '../../../config/experiment.ts'
import {
  type PartSeconds,
  TIME_PARTS,
  type TimePart,
  type TimeParts,
} from '../../../measure/traces/time-parts.ts'
import { percent, rounded, seconds } from '../../../text/numbers.ts'
import { noFigure } from '../figure.ts'
import { type Html, html } from '../html.ts'
import type { HtmlSection } from '../section.ts'
import { tableBehind } from '../table.ts'

export const timePartsHtml: HtmlSection = ({ traces: { timeParts } }, _, { hasCharts, rows }) => {
  if (!hasCharts) return null
  return {
    title: 'Where the time goes',
    body: timeParts === null ? noFigure('Not measured: no run finished.') : partsFigure(timeParts, rows),
    charts: [],
  }
}

const NAMES: Readonly<Record<TimePart, string>> = {
  start: 'imports, data and model',
  compile: 'compile and capture',
  steps: 'steps',
  evaluation: 'evaluations',
  checkpoint: 'checkpoints',
  rest: 'start and end of the process, and what is not reported',
}

const WIDTH = 640
const [BAR_X, BAR_HEIGHT, ROW_HEIGHT] = [116, 22, 34]

function partsFigure(parts: TimeParts, rows: number): Html {
  const longest = Math.max(...VARIANTS.map((variant) => totalOf(parts, variant)))
  const used = TIME_PARTS.filter((part) => VARIANTS.some((variant) => (parts[variant]?.[part].mean ?? 0) > 0))
  const legend = used.map((part) => html`<span><i class="swatch ${part}"></i>${NAMES[part]}</span>`)
  return html`<figure><figcaption><b>Seconds of a run from launch to end</b> <span class="legend">${legend}</span></figcaption>
<svg class="parts" viewBox="0 0 ${WIDTH} ${VARIANTS.length * ROW_HEIGHT}" role="img" aria-label="Seconds of a run by what they are spent on. The table has the numbers.">
${VARIANTS.map((variant, index) => bar(parts, variant, index * ROW_HEIGHT, longest))}
</svg>
${tableBehind('Table of this chart', partsTable(parts, used), rows)}</figure>`
}

function bar(parts: TimeParts, variant: (typeof VARIANTS)[number], y: number, longest: number): Html {
  const own = parts[variant]
  const room = WIDTH - BAR_X - ROOM_FOR_TOTAL
  const total = totalOf(parts, variant)
  let x = BAR_X
  const segments = TIME_PARTS.map((part) => {
    const mean = own?.[part].mean ?? 0
    const width = longest > 0 ? (mean / longest) * room : 0
    const from = x
    x += width
    if (!(width > 0)) return null
    return html`<rect class="${part}" x="${rounded(from, 5)}" y="${y + 6}" width="${rounded(width, 5)}" height="${BAR_HEIGHT}"><title>${NAMES[part]}: ${seconds(mean)} (${percent(mean / total)})</title></rect>`
  })
  return html`<text x="0" y="${y + 22}">${variant}</text>${segments}<text x="${rounded(x + 6, 5)}" y="${y + 22}">${own === null ? 'no run finished' : seconds(total)}</text>`
}

const ROOM_FOR_TOTAL = 84

function totalOf(parts: TimeParts, variant: (typeof VARIANTS)[number]): number {
  return TIME_PARTS.reduce((total, part) => total + (parts[variant]?.[part].mean ?? 0), 0)
}

function partsTable(parts: TimeParts, used: readonly TimePart[]) {
  return {
    label: 'Seconds of a run by what they are spent on',
    head: ['part', ...VARIANTS],
    rows: used.map((part) => [NAMES[part], ...VARIANTS.map((variant) => partText(parts[variant]?.[part]))]),
  }
}

function partText(part: PartSeconds | undefined): string {
  if (part === undefined) return 'not measured'
  const [mean, least, most] = [part.mean, part.least, part.most].map(seconds)
  return least === most ? (mean ?? '') : `${mean} (${least} to ${most})`
}
