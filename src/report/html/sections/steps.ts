// How long a step takes: over the run, and how the times of all steps are distributed.
import { VARIANTS } from '../../../config/experiment.ts'
import { type Distribution, QUANTILES, type StepTimes } from '../../../measure/traces/step-times.ts'
import { percent, seconds } from '../../../text/numbers.ts'
import type { Axis, ChartSpec } from '../chart-spec.ts'
import { figure, noFigure } from '../figure.ts'
import { html } from '../html.ts'
import type { HtmlSection } from '../section.ts'
import type { TableText } from '../table.ts'
import { SAMPLES, seriesOf } from './losses.ts'

export const stepsHtml: HtmlSection = ({ traces: { stepTimes } }, id, { hasCharts }) => {
  if (!hasCharts) return null
  const overRun = stepTimes === null ? [] : overRunChart(`${id}-step-time`, stepTimes)
  const spread = stepTimes === null ? [] : [distributionChart(`${id}-step-times`, stepTimes.distribution)]
  return {
    title: 'Step time',
    body: html`${stepTimes === null ? noFigure('Not measured: no finished run reports the time of its steps after the warm-up.') : html`<p class="note">Steps after the warm-up. Line: the median step. Band: from the 10th to the 90th percentile.</p>`}
${overRun.map((chart) => figure(chart))}
${spread.map((chart) => figure(chart, stepTimes === null ? undefined : quantileTable(stepTimes.distribution)))}`,
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
    },
  ]
}

function distributionChart(id: string, { bins, shares, steps }: Distribution): ChartSpec {
  return {
    id,
    kind: 'bars',
    title: 'Distribution of the step times',
    x: STEP_SECONDS,
    y: { label: 'share of the steps', format: 'percent', unit: '' },
    scale: 'from-zero',
    places: bins,
    series: VARIANTS.filter((variant) => steps[variant] > 0).map((variant) => ({
      name: variant,
      tone: variant,
      middle: shares[variant],
      spread: null,
    })),
    stretches: [],
    marks: [],
    group: null,
  }
}

function quantileTable({ quantiles, steps }: Distribution): TableText {
  return {
    label: 'Step times at some percentiles',
    head: ['steps that are at most so long', ...VARIANTS],
    rows: [
      ...QUANTILES.map((share, index) => [
        QUANTILE_NAMES[share] ?? percent(share),
        ...VARIANTS.map((variant) => {
          const value = quantiles[variant]?.[index]
          return value === undefined ? 'not measured' : seconds(value)
        }),
      ]),
      ['number of steps', ...VARIANTS.map((variant) => String(steps[variant]))],
    ],
  }
}

const QUANTILE_NAMES: Readonly<Record<number, string>> = {
  0: 'the fastest',
  0.5: 'half (the median)',
  1: 'all',
}
