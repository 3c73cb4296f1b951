// Curves -> Mermaid charts for GitHub, each with a table of a few of its points: a chart alone cannot be read out.
import type { Curve } from '../../measure/curves.ts'
import { SECONDS_PER_SAMPLE } from '../../metrics/catalogue.ts'
import { number, plainNumber, seconds } from '../../text/numbers.ts'
import { folded, type Section, table } from '../section.ts'

// A chart has no legend, so the colours are named in the text: both are told apart in light and dark themes.
const COLOURS = '#9a9a9a, #2da44e'
const ROWS = 5

const TITLES: Readonly<Record<Curve['metric'], string>> = {
  train_loss: 'Training loss by samples seen',
  [SECONDS_PER_SAMPLE]: 'Time per sample after the warm-up steps, by samples seen',
}

export const curvesSection: Section = ({ curves }) => ({
  kind: 'chart',
  title: 'the curves',
  markdown:
    curves.length === 0
      ? ''
      : folded('Curves of training loss and time per sample', curves.map(chartMarkdown).join('\n\n')),
})

export function chartMarkdown(curve: Curve): string {
  const title = `**${TITLES[curve.metric]}** (grey: baseline, green: optimized; means over the measured runs)`
  return [title, diagram(curve), pointsTable(curve)].join('\n\n')
}

function diagram({ metric, samples, values }: Curve): string {
  const scale = metric === SECONDS_PER_SAMPLE ? 1e6 : 1
  const lines = [values.baseline, values.optimized].map((line) => line.map((value) => value * scale))
  const all = lines.flat()
  const [least, most] = [Math.min(...all), Math.max(...all)]
  // A flat line needs some height too; times are shown from zero, so that twice as fast looks so.
  const margin = (most - least || Math.abs(most) || 1) * 0.05
  const from = metric === SECONDS_PER_SAMPLE ? 0 : least - margin
  return [
    '```mermaid',
    `%%{init: {"themeVariables": {"xyChart": {"plotColorPalette": "${COLOURS}"}}}}%%`,
    'xychart-beta',
    `  x-axis "samples seen" ${plainNumber(samples[0] ?? 0)} --> ${plainNumber(samples.at(-1) ?? 0)}`,
    `  y-axis "${metric === SECONDS_PER_SAMPLE ? 'us per sample' : 'training loss'}" ${plainNumber(from)} --> ${plainNumber(most + margin)}`,
    ...lines.map((line) => `  line [${line.map(plainNumber).join(', ')}]`),
    '```',
  ].join('\n')
}

function pointsTable({ metric, samples, values }: Curve): string {
  const show = (value: number | undefined) =>
    value === undefined ? '' : metric === SECONDS_PER_SAMPLE ? seconds(value) : number(value)
  const every = Math.ceil(samples.length / ROWS)
  const rows = samples.flatMap((seen, at) =>
    (samples.length - 1 - at) % every === 0
      ? [[String(seen), show(values.baseline[at]), show(values.optimized[at])]]
      : [],
  )
  return table([['samples seen', 'baseline', 'optimized'], ...rows])
}
