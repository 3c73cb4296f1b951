// Phases that follow the steps one after another, and those that lie in a step or run at the same time.
import type { CompleteMetrics } from '../read/metrics-record.ts'

type Phase = CompleteMetrics['phases'][number]

/** A step is timed on the device, what is compiled in it on the host: two clocks for one duration. */
const TWO_CLOCKS = 1.01

/** A compilation or capture that names its step, and is no longer than that step. */
export function liesInStep({ name, step, seconds }: Phase, { steps }: CompleteMetrics): boolean {
  if (step === null || (name !== 'compile' && name !== 'capture')) return false
  return seconds <= (steps.seconds[step - 1] ?? 0) * TWO_CLOCKS
}

/** It may be written while the training goes on. */
export function mayLieBeside({ name }: Phase): boolean {
  return name === 'checkpoint'
}
