// How coarsely a run writes each of its held-out numbers: one value may end in a zero, all of a series do not.
import { HELD_OUT_LOSS } from '../metrics/catalogue.ts'
import { evaluationMetric } from '../metrics/families.ts'
import type { Evaluation } from '../read/events.ts'
import { type WrittenIn, writtenInOf } from '../statistics/resolution.ts'

/** By the name that gates have for each. */
export function writtenIn(evaluations: readonly Evaluation[]): Record<string, WrittenIn> {
  const values = evaluations.flatMap(({ val_loss, metrics = {} }) => [
    [HELD_OUT_LOSS, val_loss] as const,
    ...Object.entries(metrics).map(([name, value]) => [evaluationMetric(name), value] as const),
  ])
  return Object.fromEntries(
    [...Map.groupBy(values, ([name]) => name)].map(([name, own]) => [
      name,
      writtenInOf(own.map(([, value]) => value)),
    ]),
  )
}
