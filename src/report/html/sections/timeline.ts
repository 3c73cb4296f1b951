// The launches in their order: what the GPUs did meanwhile, what disturbed them, and every launch as a row.

import type { Reading, ReadingName, Timeline, TimelineLaunch } from '../../../measure/traces/timeline.ts'
import { runTitle } from '../../../plan/plan.ts'
import type { OutcomeLine, Result } from '../../../record/result.ts'
import { duration, rounded } from '../../../text/numbers.ts'
import { LAUNCHES_HEAD, launchRows } from '../../sections/launches.ts'
import { MACHINE_HEAD, machineNumbers } from '../../sections/machine.ts'
import type { ChartSpec } from '../chart-spec.ts'
import { type Html, html, NOTHING } from '../html.ts'
import { figure, noFigure } from '../pictures/figure.ts'
import type { HtmlSection } from '../section.ts'
import { htmlTable, tableBehind } from '../table.ts'

export const timelineHtml: HtmlSection = ({ result, traces: { timeline } }, id, { rows, hasCharts }) => {
  const charts =
    timeline === null || !hasCharts
      ? []
      : timeline.readings.map((reading) =>
          readingChart(`${id}-${reading.name}`, id, reading, timeline, result),
        )
  const numbers = machineNumbers(result)
  return {
    title: 'Launches and machine',
    body: html`${timeline === null || !hasCharts ? NOTHING : strip(timeline, result)}
${charts.length > 0 ? html`<p class="note">Line: the mean over GPUs and time. Band: from the lowest to the highest reading.${timeline !== null && timeline.slowed.length + timeline.foreign.length > 0 ? ' Red strip: a GPU was slowed down, or another process used it.' : ''}</p>` : noFigure(hasCharts ? 'No GPU was watched: clock, power, temperature and memory are not measured.' : '')}
${charts.map((chart) => figure(chart))}
${numbers.rows.length === 0 ? NOTHING : html`<h4>GPUs in the steady state</h4>${htmlTable({ label: 'GPUs in the steady state', head: MACHINE_HEAD, rows: numbers.rows }, rows)}`}
${tableBehind(`All launches (${result.outcomes.length})`, { label: 'All launches', head: LAUNCHES_HEAD, rows: launchRows(result) }, rows)}`,
    charts,
  }
}

const READINGS: Readonly<Record<ReadingName, { title: string; unit: string; scale: number }>> = {
  sm_clock_mhz: { title: 'SM clock', unit: ' MHz', scale: 1 },
  power_watts: { title: 'Power of a GPU', unit: ' W', scale: 1 },
  temperature_celsius: { title: 'Temperature', unit: ' °C', scale: 1 },
  memory_used_bytes: { title: 'Memory in use', unit: ' GB', scale: 1e-9 },
}

function readingChart(
  id: string,
  group: string,
  reading: Reading,
  timeline: Timeline,
  result: Result,
): ChartSpec {
  const { title, unit, scale } = READINGS[reading.name]
  const scaled = (line: Reading['middle']) => line.map((value) => (value === null ? null : value * scale))
  const disturbed = reading.name === 'sm_clock_mhz' ? [...timeline.slowed, ...timeline.foreign] : []
  return {
    id,
    kind: 'lines',
    title,
    x: { label: 'time since the first launch', format: 'duration', unit: '' },
    y: { label: title.toLowerCase(), format: 'number', unit },
    scale: 'from-zero',
    places: timeline.times,
    series: [
      {
        name: timeline.gpus > 1 ? `${timeline.gpus} GPUs` : 'GPU',
        tone: 'machine',
        middle: scaled(reading.middle),
        spread: { low: scaled(reading.low), high: scaled(reading.high) },
      },
    ],
    stretches: timeline.launches.flatMap(({ runId, from, to }) => {
      const outcome = outcomeOf(runId, result)
      return outcome === undefined ? [] : [{ from, to, tone: outcome.run.variant }]
    }),
    marks: disturbed.flatMap((part) => timeline.times[part] ?? []),
    group,
    size: 'small',
  }
}

function outcomeOf(runId: string, { outcomes }: Result): OutcomeLine | undefined {
  return outcomes.find(({ run }) => run.id === runId)
}

const [WIDTH, HEIGHT] = [1000, 28]

/** The launches alone, which there are also where no GPU was watched. */
function strip(timeline: Timeline, result: Result): Html {
  const gaps = timeline.hasShortGaps ? ' Longer breaks between launches are shortened.' : ''
  return html`<figure><figcaption><b>Launches</b> <span class="legend"><span><i class="swatch baseline"></i>baseline</span><span><i class="swatch optimized"></i>optimized</span><span><i class="swatch uncounted"></i>warm-up, or does not count</span><span><i class="swatch failed"></i>failed or disturbed</span></span></figcaption>
<svg class="strip" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="The launches in their order. The table of all launches has the numbers.">
${timeline.launches.map((launch) => block(launch, timeline, outcomeOf(launch.runId, result)))}
</svg>
<p class="note">${timeline.launches.length} launches in ${duration(timeline.seconds)}.${gaps}</p></figure>`
}

function block({ from, to }: TimelineLaunch, { seconds }: Timeline, outcome: OutcomeLine | undefined): Html {
  const x = (time: number) => rounded((time / seconds) * WIDTH, 5)
  if (outcome === undefined) return NOTHING
  const { run, setAside, status } = outcome
  const states = [
    run.variant,
    ...(run.purpose === 'warm-up' || setAside !== null ? ['uncounted'] : []),
    ...(status === 'failed' || setAside !== null ? ['failed'] : []),
  ]
  const why = setAside?.reason ?? outcome.message ?? ''
  return html`<rect class="${states.join(' ')}" x="${x(from)}" y="2" width="${rounded(Math.max(1, x(to) - x(from)), 5)}" height="${HEIGHT - 4}"><title>${runTitle(run)}: ${duration(to - from)}, ${status}${why === '' ? '' : `, ${why}`}</title></rect>`
}
