// The runs of both variants -> what their time from launch to end was spent on.
import { VARIANTS, type Variant } from '../../config/experiment.ts'
import { meanOf, sumOf } from '../../statistics/averages.ts'
import { liesInStep } from '../phases.ts'
import type { FinishedRun } from '../summary.ts'

/** In their usual order. What nobody reports, such as the start and end of the process, is `rest`. */
export const TIME_PARTS = ['start', 'compile', 'steps', 'evaluation', 'checkpoint', 'rest'] as const
export type TimePart = (typeof TIME_PARTS)[number]

export interface PartSeconds {
  readonly mean: number
  readonly least: number
  readonly most: number
}

/** Over the runs of a variant; null where it has none. */
export type TimeParts = Readonly<Record<Variant, Readonly<Record<TimePart, PartSeconds>> | null>>

export function timeParts(runs: readonly FinishedRun[]): TimeParts | null {
  const of = (variant: Variant) => {
    const parts = runs.filter(({ run }) => run.variant === variant).map(partsOf)
    return parts.length === 0 ? null : overRuns(parts)
  }
  const found = { baseline: of('baseline'), optimized: of('optimized') }
  return VARIANTS.every((variant) => found[variant] === null) ? null : found
}

type Parts = Readonly<Record<TimePart, number>>

function partsOf({ wallSeconds, metrics }: FinishedRun): Parts {
  const { phases, steps, evaluations } = metrics
  // What is compiled within a step is in the seconds of that step already.
  const apart = phases.filter((phase) => !liesInStep(phase, metrics))
  const secondsOf = (...names: readonly string[]) =>
    sumOf(apart.filter(({ name }) => names.includes(name)).map(({ seconds }) => seconds))
  const known = {
    start: secondsOf('import', 'data', 'build'),
    compile: secondsOf('compile', 'capture'),
    steps: sumOf(steps.seconds),
    evaluation: sumOf(evaluations.map(({ seconds }) => seconds ?? 0)),
    checkpoint: secondsOf('checkpoint'),
  }
  return { ...known, rest: Math.max(0, wallSeconds - sumOf(Object.values(known))) }
}

function overRuns(runs: readonly Parts[]): Record<TimePart, PartSeconds> {
  const of = (part: TimePart): PartSeconds => {
    const seconds = runs.map((parts) => parts[part])
    return { mean: meanOf(seconds), least: Math.min(...seconds), most: Math.max(...seconds) }
  }
  return {
    start: of('start'),
    compile: of('compile'),
    steps: of('steps'),
    evaluation: of('evaluation'),
    checkpoint: of('checkpoint'),
    rest: of('rest'),
  }
}
