// Training loss and held-out loss of both variants, with the spread of their runs.
import { VARIANTS } from '../../../config/experiment.ts'
import type { SpreadCurve } from '../../../measure/traces/spread.ts'
import type { Axis, ChartSpec } from '../chart-spec.ts'
import { type Html, html } from '../html.ts'
import { chartTable, figure, noFigure } from '../pictures/figure.ts'
import type { HtmlSection } from '../section.ts'
import { htmlTable } from '../table.ts'

export const lossesHtml: HtmlSection = ({ traces }, id, { hasCharts }) => {
  if (!hasCharts) return null
  const { trainingLoss, heldOutLoss } = traces
  const charts = [
    ...(trainingLoss === null ? [] : [lossChart(`${id}-training-loss`, 'Training loss', trainingLoss)]),
    ...(heldOutLoss === null ? [] : [lossChart(`${id}-held-out-loss`, 'Held-out loss', heldOutLoss)]),
  ]
  return {
    title: 'Losses',
    body: html`${charts.length === 0 ? noFigure('Not measured: no finished run reports a loss.') : html`<p class="note">Line: the mean of the measured runs. Band: from the lowest to the highest run.</p>`}
${charts.map((chart) => (chart.places.length > 1 ? figure(chart) : evaluatedOnce(chart)))}`,
    charts: charts.filter(({ places }) => places.length > 1),
  }
}

/** A single place makes no curve. */
function evaluatedOnce(chart: ChartSpec): Html {
  return html`<h4>${chart.title}, evaluated once</h4>${htmlTable(chartTable(chart), 1)}`
}

export const SAMPLES: Axis = { label: 'samples seen', format: 'number', unit: '' }

function lossChart(id: string, title: string, curve: SpreadCurve): ChartSpec {
  return {
    id,
    kind: 'lines',
    title,
    x: SAMPLES,
    y: { label: title.toLowerCase(), format: 'number', unit: '' },
    scale: isWide(curve) ? 'log' : 'linear',
    places: curve.samples,
    series: seriesOf(curve),
    stretches: [],
    marks: [],
    group: null,
    size: 'large',
  }
}

/** `fewestRuns`: without so many of a variant, its band would be a line. */
export function seriesOf({ values, runs }: SpreadCurve, fewestRuns = 2): ChartSpec['series'] {
  return VARIANTS.flatMap((variant) => {
    const { middle, low, high } = values[variant]
    if (runs[variant] === 0) return []
    return [
      { name: variant, tone: variant, middle, spread: runs[variant] >= fewestRuns ? { low, high } : null },
    ]
  })
}

const WIDE = 20

/** A loss that falls by so much is a flat line for most of a linear chart. */
function isWide({ values }: SpreadCurve): boolean {
  const all = VARIANTS.flatMap((variant) => values[variant].middle.filter((value) => value !== null))
  const [least, most] = [Math.min(...all), Math.max(...all)]
  return least > 0 && most / least > WIDE
}
