// A row of a table: what one rung gives.

import type { RunSummary } from '../../measure/summary.ts'
import { HELD_OUT_LOSS, PEAK_MEMORY_RESERVED, SECONDS_PER_SAMPLE } from '../../metrics/catalogue.ts'
import { bytes, number, ratio, seconds, signed } from '../../text/numbers.ts'
import { statusText } from '../../text/wording.ts'
import type { RungResult } from '../judge.ts'
import type { FinishedMeasurement } from '../measurement.ts'
import type { Effect } from '../noise.ts'
import type { LadderRung } from '../record.ts'
import type { Style } from './style.ts'

export const HEAD = [
  'rung',
  'step',
  'speedup',
  'gain',
  'predicted',
  'peak reserved',
  'compile, capture',
  'held-out loss',
  'loss delta',
  'verdict',
]

export function row(name: string, rung: LadderRung | null, result: RungResult, { cell }: Style): string[] {
  const { measurement, speedup, gain, verdict } = result
  const predicted = rung?.predicts ?? ''
  if (measurement.status !== 'finished') {
    const why = measurement.status === 'failed' ? `failed: ${measurement.reason}` : statusText(verdict)
    return [cell(name), '', '', '', cell(predicted), '', '', '', '', why]
  }
  return [
    cell(name),
    stepText(measurement.summary),
    effectText(speedup),
    effectText(gain),
    cell(predicted),
    numberText(measurement.summary.metrics[PEAK_MEMORY_RESERVED], bytes),
    compileText(measurement),
    numberText(measurement.summary.metrics[HELD_OUT_LOSS], number),
    numberText(measurement.lossDelta ?? undefined, signed),
    statusText(verdict),
  ]
}

export function stepText(run: RunSummary): string {
  const step = stepSeconds(run)
  return step === null ? 'no steady state' : seconds(step)
}

export function stepSeconds({ metrics, samples, steps }: RunSummary): number | null {
  const time = metrics[SECONDS_PER_SAMPLE]
  return time === undefined ? null : (time * samples) / steps
}

function effectText(effect: Effect | null): string {
  if (effect === null) return 'not measured'
  const { bounds } = effect
  return bounds === null
    ? ratio(effect.ratio)
    : `${ratio(effect.ratio)} (${ratio(bounds.lower)} to ${ratio(bounds.upper)})`
}

function compileText({ compileSeconds, compileCache }: FinishedMeasurement): string {
  const status = compileCache === 'cold' || compileCache === 'warm' ? `, ${compileCache} cache` : ''
  return compileSeconds === 0 ? 'none' : `${seconds(compileSeconds)}${status}`
}

function numberText(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? 'not measured' : format(value)
}
