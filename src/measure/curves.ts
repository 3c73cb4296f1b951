// The runs of each variant -> short curves for a chart: training loss and step seconds over the samples seen.
import { VARIANTS, type Variant } from '../config/experiment.ts'
import { meanOf, sumOf } from '../statistics/averages.ts'
import type { FinishedRun } from './summary.ts'

export interface Curve {
  readonly metric: 'train_loss' | 'seconds_per_sample'
  /** Samples seen at the end of each part of the training; the parts are equally long. */
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
    ...curve(measured, 'seconds_per_sample', warmUpStepsOf),
  ]
}

function curve(
  runs: readonly FinishedRun[],
  metric: Curve['metric'],
  fromOf: (run: FinishedRun) => number,
): Curve[] {
  const shortest = Math.min(...runs.map((run) => run.metrics.steps.seconds.length - fromOf(run)))
  const parts = Math.min(PARTS, shortest)
  const [first] = runs
  if (!first || parts < 2) return []
  const { samples } = first.metrics.steps
  const [skipped, total] = [sumOf(samples.slice(0, fromOf(first))), sumOf(samples)]
  const ofRun = (run: FinishedRun) =>
    metric === 'train_loss' ? lossParts(run, parts) : secondsParts(run, fromOf(run), parts)
  return [
    {
      metric,
      samples: Array.from({ length: parts }, (_, part) =>
        Math.round(skipped + ((total - skipped) * (part + 1)) / parts),
      ),
      values: {
        baseline: meanOver(runs, 'baseline', ofRun, parts),
        optimized: meanOver(runs, 'optimized', ofRun, parts),
      },
    },
  ]
}

function meanOver(
  runs: readonly FinishedRun[],
  variant: Variant,
  ofRun: (run: FinishedRun) => number[],
  parts: number,
): number[] {
  const curves = runs.filter(({ run }) => run.variant === variant).map(ofRun)
  return Array.from({ length: parts }, (_, part) => meanOf(curves.map((curve) => curve[part] ?? 0)))
}

function lossParts({ metrics: { steps } }: FinishedRun, parts: number): number[] {
  return inParts(steps.trainLoss.length, parts, (from, to) => meanOf(steps.trainLoss.slice(from, to)))
}

function secondsParts({ metrics: { steps } }: FinishedRun, from: number, parts: number): number[] {
  const [seconds, samples] = [steps.seconds.slice(from), steps.samples.slice(from)]
  return inParts(
    seconds.length,
    parts,
    (start, end) => sumOf(seconds.slice(start, end)) / sumOf(samples.slice(start, end)),
  )
}

function inParts(steps: number, parts: number, of: (from: number, to: number) => number): number[] {
  const start = (part: number) => Math.round((steps * part) / parts)
  return Array.from({ length: parts }, (_, part) => of(start(part), start(part + 1)))
}
