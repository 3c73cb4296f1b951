// For the live view: the event that a row of a growing source means.
import { type MetricsEvent, metricsEvent } from '../events.ts'
import type { Declared } from './declared.ts'
import type { Row } from './row.ts'

/** Null where it holds too little for one. */
export function liveEventOf(rows: Iterable<Row>, { samples_per_step }: Declared): MetricsEvent | null {
  for (const row of rows) {
    if (row.kind !== 'step' || row.seconds === null) continue
    const samples = row.samples ?? samples_per_step
    const columns = { step_seconds: [row.seconds], samples: samples === undefined ? undefined : [samples] }
    const event = { event: 'steps', first_step: row.step, ...columns }
    return metricsEvent.safeParse(event).data ?? null
  }
  return null
}
