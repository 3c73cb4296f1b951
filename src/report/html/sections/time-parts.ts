// Where the time of a run goes: set-up, steps, evaluations and the rest as stacked bars.
import { VARIANTS } from '../../../config/experiment.ts'
import {
  type PartSeconds,
  TIME_PARTS,
  type TimePart,
  type TimeParts,
} from '../../../measure/traces/time-parts.ts'
import { seconds } from '../../../text/numbers.ts'
import type { Html } from '../html.ts'
import { noFigure } from '../pictures/figure.ts'
import { stackedBars } from '../pictures/stacked-bars.ts'
import type { HtmlSection } from '../section.ts'

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

function partsFigure(found: TimeParts, rows: number): Html {
  const used = TIME_PARTS.filter((part) => VARIANTS.some((variant) => (found[variant]?.[part].mean ?? 0) > 0))
  const parts = used.map((part) => ({
    name: NAMES[part],
    tone: part,
    values: {
      baseline: found.baseline?.[part].mean ?? null,
      optimized: found.optimized?.[part].mean ?? null,
    },
  }))
  const table = {
    label: 'Seconds of a run by what they are spent on',
    head: ['part', ...VARIANTS],
    rows: used.map((part) => [NAMES[part], ...VARIANTS.map((variant) => partText(found[variant]?.[part]))]),
  }
  const title = 'Seconds of a run from launch to end'
  return stackedBars({ title, parts, valueText: seconds, whyNone: 'no run finished' }, table, rows)
}

function partText(part: PartSeconds | undefined): string {
  if (part === undefined) return 'not measured'
  const [mean, least, most] = [seconds(part.mean), seconds(part.least), seconds(part.most)]
  return least === most ? mean : `${mean} (${least} to ${most})`
}
