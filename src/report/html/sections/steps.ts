// How long a step takes: over the run, and how the times of all steps are distributed.
import { VARIANTS, type Variant } from '../../../config/experiment.ts'
import { type Distribution, QUANTILES, type StepTimes } from '../../../measure/traces/step-times.ts'
import { percent, seconds } from '../../../text/numbers.ts'
import type { Axis, ChartSpec } from '../chart-spec.ts'
import { html } from '../html.ts'
import { figure, noFigure } from '../pictures/figure.ts'
import type { HtmlSection } from '../section.ts'
import { type TableText, tableBehind } from '../table.ts'
import { SAMPLES, seriesOf } from './losses.ts'

export const stepsHtml: HtmlSection = ({ traces: { stepTimes } }, id, { hasCharts, rows }) => {
  if (!hasCharts) return null
  const title = 'Step time'
  if (stepTimes === null) {
    const why = 'Not measured: no finished run reports the time of its steps after the warm-up.'
    return { title, body: noFigure(why), charts: [] }
  }
  const { distributions } = stepTimes
  const overRun = overRunChart(`${id}-step-time`, stepTimes)
  const spread = VARIANTS.flatMap((variant) => {
    const found = distributions[variant]
    return found === null ? [] : [distributionChart(`${id}-step-times-${variant}`, variant, found)]
  })
  return {
    title,
    body: html`<p class="note">Steps after the warm-up. Line: the median step. Band: from the 10th to the 90th percentile.</p>
${overRun.map((chart) => figure(chart))}
<div class="pair">${spread.map((chart) => figure(chart))}</div>
${tableBehind('Percentiles of the step times', quantileTable(distributions), rows)}`,
    charts: [...overRun, ...spread],
  }
}

/** Its steps differ from each other. */
const ONE_RUN_HAS_SPREAD = 1

const STEP_SECONDS: Axis = { label: 'time of a step', format: 'seconds', unit: '' }

function overRunChart(id: string, { overRun }: StepTimes): ChartSpec[] {
  if (overRun === null) return []
  return [
    {
      id,
      kind: 'lines',
      title: 'Time of a step over the run',
      x: SAMPLES,
      y: STEP_SECONDS,
      // Twice as fast is to look so.
      scale: 'from-zero',
      places: overRun.samples,
      series: seriesOf(overRun, ONE_RUN_HAS_SPREAD),
      stretches: [],
      marks: [],
      group: null,
      size: 'large',
    },
  ]
}

function distributionChart(id: string, variant: Variant, { bins, shares }: Distribution): ChartSpec {
  return {
    id,
    kind: 'bars',
    title: `Distribution of the step times, ${variant}`,
    x: STEP_SECONDS,
    y: { label: 'share of the steps', format: 'percent', unit: '' },
    scale: 'from-zero',
    places: bins,
    series: [{ name: 'share of the steps', tone: variant, middle: shares, spread: null }],
    stretches: [],
    marks: [],
    group: null,
    size: 'small',
  }
}

function quantileTable(distributions: StepTimes['distributions']): TableText {
  const texts = (of: (found: Distribution) => string) =>
    VARIANTS.map((variant) => {
      const found = distributions[variant]
      return found === null ? 'not measured' : of(found)
    })
  return {
    label: 'Percentiles of the step times',
    head: ['share of the steps', ...VARIANTS],
    rows: [
      ...QUANTILES.map((share, index) => [
        QUANTILE_NAMES[share] ?? `${percent(share)} are at most`,
        ...texts(({ quantiles }) => seconds(quantiles[index] ?? Number.NaN)),
      ]),
      ['number of steps', ...texts(({ steps }) => String(steps))],
    ],
  }
}

const QUANTILE_NAMES: Readonly<Record<number, string>> = { 0: 'fastest', 0.5: 'median', 1: 'slowest' }
