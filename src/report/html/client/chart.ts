// One chart of the page -> uPlot's options and data.
import uPlot from 'uplot'
import { tickTexts } from '../axis-text.ts'
import type { Axis, ChartSpec, Tone } from '../chart-spec.ts'

const HEIGHTS: Readonly<Record<ChartSpec['size'], number>> = { large: 220, small: 150 }
/** In seconds, from 1 s to some weeks. */
const ROUND_TIMES = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800,
]
/** The same for all, so that charts below each other have one axis. */
const AXIS_WIDTH = 76

export function drawChart(
  spec: ChartSpec,
  place: HTMLElement,
  width: number,
  onPointer: (index: number | null) => void,
): { remove: () => void } {
  const chart = new uPlot(optionsOf(spec, width, onPointer), dataOf(spec), place)
  return { remove: () => chart.destroy() }
}

type Options = uPlot.Options

function dataOf({ places, series }: ChartSpec): uPlot.AlignedData {
  const columns = series.flatMap(({ middle, spread }) => [
    [...(spread?.low ?? middle)],
    [...(spread?.high ?? middle)],
    [...middle],
  ])
  return [[...places], ...columns]
}

function optionsOf(spec: ChartSpec, width: number, onPointer: (index: number | null) => void): Options {
  const colours = coloursOf()
  return {
    width,
    height: HEIGHTS[spec.size],
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { show: false },
      ...(spec.group === null ? {} : { sync: { key: spec.group } }),
    },
    scales: { x: { time: false }, y: yScale(spec) },
    axes: [
      { ...axisOf(spec.x, colours, 'x'), ...(spec.x.format === 'duration' ? { incrs: ROUND_TIMES } : {}) },
      { ...axisOf(spec.y, colours, 'y'), ...(spec.scale === 'log' ? { splits: powersOfTen } : {}) },
    ],
    series: [{}, ...spec.series.flatMap((one) => seriesOf(spec, one.tone, colours))],
    bands: spec.series.flatMap(({ tone, spread }, index) =>
      spread === null || spec.kind === 'bars'
        ? []
        : [{ series: [3 * index + 2, 3 * index + 1] as [number, number], fill: faded(colours[tone], 0.22) }],
    ),
    hooks: {
      drawClear: [(chart) => drawStretches(chart, spec, colours)],
      draw: [(chart) => drawMarks(chart, spec, colours)],
      setCursor: [(chart) => onPointer(chart.cursor.idx ?? null)],
    },
  }
}

function yScale({ scale }: ChartSpec): uPlot.Scale {
  if (scale === 'log') return { distr: 3 }
  if (scale === 'linear') return {}
  return { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] }
}

/** Low, high and middle: the first two are there for the band between them. */
function seriesOf({ kind, places }: ChartSpec, tone: Tone, colours: Colours): uPlot.Series[] {
  const colour = colours[tone]
  const edge: uPlot.Series = { stroke: 'transparent', width: 0, points: { show: false } }
  const stepped = uPlot.paths.stepped?.({ align: 1 })
  const few = places.length <= 40
  const middle: uPlot.Series = {
    stroke: colour,
    width: 2,
    // Told apart without their colours too.
    ...(tone === 'baseline' ? { dash: [6, 4] } : {}),
    points: { show: kind === 'lines' && few, size: 5, fill: colour },
    spanGaps: tone !== 'machine',
    ...(kind === 'bars' && stepped ? { paths: stepped, fill: faded(colour, 0.3) } : {}),
  }
  return [edge, edge, middle]
}

function axisOf(axis: Axis, colours: Colours, side: 'x' | 'y'): uPlot.Axis {
  return {
    stroke: colours.quiet,
    font: '12px system-ui, sans-serif',
    grid: { stroke: colours.line, width: 1 },
    ticks: { stroke: colours.line, width: 1 },
    ...(side === 'x'
      ? {
          size: 32,
          label: axis.label,
          labelSize: 18,
          labelGap: 0,
          labelFont: '12px system-ui, sans-serif',
          space: 80,
        }
      : { size: AXIS_WIDTH, space: 32 }),
    values: (_, splits) => tickTexts(axis, splits),
  }
}

/** Not the lines between them, which would fill a chart of some decades. */
function powersOfTen(_: uPlot, __: number, least: number, most: number): number[] {
  const from = Math.ceil(Math.log10(least) - 1e-9)
  const to = Math.floor(Math.log10(most) + 1e-9)
  return Array.from({ length: Math.max(0, to - from + 1) }, (___, index) => 10 ** (from + index))
}

function drawStretches({ ctx, bbox, valToPos }: uPlot, { stretches }: ChartSpec, colours: Colours): void {
  ctx.save()
  for (const { from, to, tone } of stretches) {
    const [left, right] = [within(valToPos(from, 'x', true), bbox), within(valToPos(to, 'x', true), bbox)]
    ctx.fillStyle = faded(colours[tone], 0.1)
    ctx.fillRect(left, bbox.top, right - left, bbox.height)
  }
  ctx.restore()
}

const MARK_HEIGHT = 6

function drawMarks(chart: uPlot, { marks, places }: ChartSpec, colours: Colours): void {
  const { ctx, bbox } = chart
  const part = (places[1] ?? 1) - (places[0] ?? 0)
  ctx.save()
  ctx.fillStyle = colours.alarm
  for (const place of marks) {
    const left = within(chart.valToPos(place - part / 2, 'x', true), bbox)
    const right = within(chart.valToPos(place + part / 2, 'x', true), bbox)
    if (right > left) ctx.fillRect(left, bbox.top, Math.max(2, right - left), MARK_HEIGHT)
  }
  ctx.restore()
}

function within(at: number, { left, width }: uPlot.BBox): number {
  return Math.min(left + width, Math.max(left, at))
}

type Colours = Readonly<Record<Tone | 'quiet' | 'line' | 'alarm', string>>

function coloursOf(): Colours {
  const style = getComputedStyle(document.documentElement)
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim()
  return {
    baseline: of('baseline'),
    optimized: of('optimized'),
    machine: of('machine'),
    quiet: of('quiet'),
    line: of('line'),
    alarm: of('alarm'),
  }
}

/** Of a colour as the style writes it, #rrggbb. */
function faded(colour: string, share: number): string {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
  return `rgba(${red}, ${green}, ${blue}, ${share})`
}
