// Metrics that have no row of their own: a trainer's, and those of a run as if it had always been fast.
import { CATALOGUE, HELD_OUT_LOSS, type MetricName } from './catalogue.ts'
import type { MetricRow } from './row.ts'

const EVALUATION = 'evaluation.'
const AT_FASTEST_STEPS = '_at_fastest_steps'

/** What a trainer's evaluation calls it -> as gates name it. */
export function evaluationMetric(name: string): string {
  return `${EVALUATION}${name}`
}

/** Not for gates: no run was so fast. */
export function atFastestSteps(metric: MetricName): string {
  return `${metric}${AT_FASTEST_STEPS}`
}

/** As the metrics of an evaluation name it: the held-out loss of a part, such as a task. */
export function isPartOfLoss(name: string): boolean {
  return name.startsWith(`${HELD_OUT_LOSS}/`)
}

/** The same, as gates name it. */
export function isLossOfPart(metric: string): boolean {
  return metric.startsWith(EVALUATION) && isPartOfLoss(metric.slice(EVALUATION.length))
}

/** The row of a metric; of one without a row, what its name says about it. */
export function metricNamed(metric: string): MetricRow {
  const row = rowOf(metric)
  if (row !== undefined) return row
  if (metric.startsWith(EVALUATION)) return trainersOwn(metric.slice(EVALUATION.length))
  const whole = metric.endsWith(AT_FASTEST_STEPS)
    ? rowOf(metric.slice(0, -AT_FASTEST_STEPS.length))
    : undefined
  if (whole !== undefined) return { ...whole, gates: {}, isShownOnly: true }
  throw new Error(`${metric} is not in the catalogue of metrics`)
}

/** Not by index alone: every object has a 'constructor'. */
function rowOf(metric: string): MetricRow | undefined {
  const rows: Readonly<Record<string, MetricRow>> = CATALOGUE
  return Object.hasOwn(rows, metric) ? rows[metric] : undefined
}

function trainersOwn(name: string): MetricRow {
  const isTime = name === 'seconds' || name.endsWith('_seconds')
  return {
    meaning: evaluationMetric(name),
    unit: name.endsWith('_bytes') ? 'bytes' : 'none',
    better: isTime ? 'less' : betterByContract(name),
    kind: isTime ? 'time' : 'quality',
    from: 'evaluation',
    needs: { report: `metrics.${name} in evaluation` },
    gates: {},
  }
}

/** Of a part of the held-out samples as over all of them, such as nrmse/advection1d. */
function betterByContract(name: string): MetricRow['better'] {
  const [, whole = name] = /^([^/]*)\/.+$/.exec(name) ?? []
  if (whole.endsWith('rmse')) return 'less'
  const row = whole === HELD_OUT_LOSS ? rowOf(HELD_OUT_LOSS) : rowOf(evaluationMetric(whole))
  return row?.better ?? null
}
