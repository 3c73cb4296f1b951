// The runs of each variant -> short curves for a chart: training loss and step seconds over the samples seen.
import { VARIANTS, type Variant } from '../config/experiment.ts'
import { SECONDS_PER_SAMPLE } from '../metrics/catalogue.ts'
import { meanOf, sumOf } from '../statistics/averages.ts'
import { samplesAfter } from './steady-state.ts'
import type { FinishedRun } from './summary.ts'

export interface Curve {
  readonly metric: 'train_loss' | typeof SECONDS_PER_SAMPLE
  /** Samples seen at the end of each part of the training; the parts have equally many, but for whole steps. */
  readonly samples: readonly number[]
  /** Means over the measured runs of a variant. */
  readonly values: Readonly<Record<Variant, readonly number[]>>
}

/** More are not told apart in a chart of a comment's width. */
const PARTS = 24

/**
 * Only what every measured run of both variants reports for each of its steps. Times begin after the warm-up steps:
 * a compile of seconds would flatten all else.
 */
export function curvesOf(runs: readonly FinishedRun[], warmUpStepsOf: (run: FinishedRun) => number): Curve[] {
  const measured = runs.filter(({ run }) => run.purpose === 'measured')
  if (VARIANTS.some((variant) => !measured.some(({ run }) => run.variant === variant))) return []
  const haveLosses = measured.every(
    ({ metrics: { steps } }) => steps.trainLoss.length === steps.seconds.length,
  )
  return [
    ...(haveLosses ? curve(measured, 'train_loss', () => 0) : []),
    ...curve(measured, SECONDS_PER_SAMPLE, warmUpStepsOf),
  ]
}

function curve(
  runs: readonly FinishedRun[],
  metric: Curve['metric'],
  fromOf: (run: FinishedRun) => number,
): Curve[] {
  const from = Math.max(...runs.map((run) => samplesAfter(run.metrics, fromOf(run))))
  const to = Math.min(...runs.map(({ metrics }) => sumOf(metrics.steps.samples)))
  const largestStep = Math.max(...runs.map(({ metrics }) => largestOf(metrics.steps.samples)))
  // A part of fewer samples than a step has may hold no step.
  const parts = Math.min(PARTS, Math.floor((to - from) / largestStep))
  if (!(parts >= 2)) return []
  const ends = Array.from({ length: parts }, (_, part) => from + ((to - from) * (part + 1)) / parts)
  const of = metric === 'train_loss' ? meanLoss : secondsPerSample
  const meanOver = (variant: Variant) => {
    const curves = runs
      .filter(({ run }) => run.variant === variant)
      .map((run) => inParts(run, [from, ...ends], of))
    return ends.map((_, part) => meanOf(curves.map((values) => values[part] ?? 0)))
  }
  return [
    {
      metric,
      samples: ends.map(Math.round),
      values: { baseline: meanOver('baseline'), optimized: meanOver('optimized') },
    },
  ]
}

/** Of the steps that end between each two of `bounds`, in samples seen: steps of a growing batch are not alike. */
function inParts({ metrics }: FinishedRun, bounds: readonly number[], of: typeof meanLoss): number[] {
  const { samples } = metrics.steps
  let [step, seen] = [0, 0]
  const steps = bounds.map((bound) => {
    for (; seen < bound && step < samples.length; step += 1) seen += samples[step] ?? 0
    return step
  })
  return steps.slice(1).map((end, part) => of(metrics.steps, steps[part] ?? 0, end))
}

type Steps = FinishedRun['metrics']['steps']

function meanLoss({ trainLoss, samples }: Steps, from: number, to: number): number {
  const counts = samples.slice(from, to)
  return sumOf(trainLoss.slice(from, to).map((loss, step) => loss * (counts[step] ?? 0))) / sumOf(counts)
}

function secondsPerSample({ seconds, samples }: Steps, from: number, to: number): number {
  return sumOf(seconds.slice(from, to)) / sumOf(samples.slice(from, to))
}

/** Math.max(...) would overflow the stack on some hundred thousand steps. */
function largestOf(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0)
}
