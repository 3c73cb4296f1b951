// A chart in the page: its caption with a legend, the place where the script draws it, and the same numbers as a table.
import { axisText } from '../axis-text.ts'
import type { ChartSeries, ChartSpec } from '../chart-spec.ts'
import { type Html, html, NOTHING } from '../html.ts'
import { type TableText, tableBehind } from '../table.ts'

const TABLE_ROWS = 12

export function figure(spec: ChartSpec): Html {
  return html`<figure>
<figcaption><b>${spec.title}${spec.y.unit === '' ? '' : html` in ${spec.y.unit}`}</b> ${legend(spec)}</figcaption>
<div class="plot" data-chart="${spec.id}" role="img" aria-label="${spec.title}. The table below has the numbers."></div>
${tableBehind('Table of this chart', chartTable(spec), TABLE_ROWS + 1)}
</figure>`
}

/** The script writes into the outputs what is under the pointer. */
function legend({ id, series }: ChartSpec): Html {
  return html`<span class="legend" data-legend="${id}"><span class="place"></span>${series.map(
    ({ name, tone }) => html`<span><i class="swatch ${tone}"></i>${name} <span class="value"></span></span>`,
  )}</span>`
}

export function chartTable({ title, x, y, places, series }: ChartSpec): TableText {
  const every = Math.max(1, Math.ceil(places.length / TABLE_ROWS))
  const shown = places.flatMap((place, index) =>
    (places.length - 1 - index) % every === 0 ? [{ place, index }] : [],
  )
  return {
    label: title,
    head: [x.label, ...series.map(({ name }) => name)],
    rows: shown.map(({ place, index }) => [
      axisText(x, place),
      ...series.map((one) => valueText(one, index, y)),
    ]),
  }
}

function valueText({ middle, spread }: ChartSeries, index: number, y: ChartSpec['y']): string {
  const value = axisText(y, middle[index])
  const [low, high] = [axisText(y, spread?.low[index]), axisText(y, spread?.high[index])]
  return low === high || low === '' ? value : `${value} (${low} to ${high})`
}

/** Where a picture would be, why there is none. */
export function noFigure(why: string): Html {
  return why === '' ? NOTHING : html`<p class="note">${why}</p>`
}
