// Each sitting: its machine, its baseline launches, and what did not count.

import type { RunSummary } from '../../measure/summary.ts'
import { DATA_WAIT_SHARE, HELD_OUT_LOSS } from '../../metrics/catalogue.ts'
import { number, percent, seconds } from '../../text/numbers.ts'
import type { JudgedLadder } from '../judge.ts'
import { baselineOf } from '../measurement.ts'
import type { LadderLaunch, LadderRecord, Sitting } from '../record.ts'
import { type UnreliableStretch, unreliableStretches } from '../unreliable-stretches.ts'
import { stepSeconds, stepText } from './table.ts'

export function sittingLines(record: LadderRecord, { baselines }: JudgedLadder): string[] {
  return record.sittings.flatMap((sitting, index) => [
    sittingText(sitting, index, baselines[index] ?? []),
    ...unreliableStretches(record, index, baselines[index] ?? []).map(stretchText),
    ...record.launches
      .filter((launch) => launch.sitting === index)
      .flatMap((launch) => uncountedText(launch, record)),
  ])
}

function sittingText(
  { startedAt, host, revision }: Sitting,
  index: number,
  baselines: readonly RunSummary[],
): string {
  const [first] = baselines
  const steps = baselines.flatMap((run) => stepSeconds(run) ?? [])
  const losses = baselines.flatMap(({ metrics }) => metrics[HELD_OUT_LOSS] ?? [])
  const waits = baselines.flatMap(({ metrics }) => metrics[DATA_WAIT_SHARE] ?? [])
  const devices =
    first === undefined || first.deviceNames.length === 0
      ? []
      : [`${first.deviceNames.length} x ${[...new Set(first.deviceNames)].join(', ')}`]
  const versions = Object.entries(first?.versions ?? {}).map(([name, version]) => `${name} ${version}`)
  return [
    `${index + 1}: ${startedAt.slice(0, 16).replace('T', ' ')} UTC on ${host}`,
    ...devices,
    ...versions,
    `code ${revision ?? sourcesText(first)}`,
    `${baselines.length} baseline ${baselines.length === 1 ? 'launch' : 'launches'}${range(steps, seconds, ' a step')}${range(waits, percent, ' of it waiting for data')}${range(losses, number, '', 'held-out loss ')}`,
  ].join(', ')
}

/** Without git, as on a machine that a copy was carried to. */
function sourcesText(run: RunSummary | undefined): string {
  return run?.code ? `of the trainer with SHA-256 ${run.code.before.slice(0, 12)}` : 'unknown'
}

function stretchText({ launched, before, after, speedupRatioOverFirst }: UnreliableStretch): string {
  const names = launched.join(', ')
  if (after === null) return `no baseline launch after ${names}: their speedups are over the one before alone`
  if (before === null)
    return `no baseline launch before ${names}: their speedups are over the one after alone`
  const steps = [before, after].map(stepText).join(' and ')
  const change = `${percent(Math.abs(speedupRatioOverFirst - 1))} ${speedupRatioOverFirst < 1 ? 'lower' : 'higher'}`
  return `the baseline launches around ${names} differ (${steps} a step): over the first alone, the speedups are ${change}`
}

/** A launch that no row shows, and why. */
function uncountedText(
  { launched: { outcome }, disturbance, training }: LadderLaunch,
  record: LadderRecord,
): string[] {
  const { id } = outcome.run
  if (disturbance !== null) return [`${id}: not counted: ${disturbance}`]
  if (outcome.status === 'cancelled') return [`${id}: cut: the time was up, or the call was cancelled`]
  const isBaseline = training === baselineOf(record)
  return isBaseline && outcome.status === 'failed'
    ? [`${id}: failed, ${outcome.reason}: ${outcome.message}; without a baseline nothing could be compared`]
    : []
}

function range(
  values: readonly number[],
  format: (value: number) => string,
  unit: string,
  name = '',
): string {
  if (values.length === 0) return ''
  const [low, high] = [format(Math.min(...values)), format(Math.max(...values))]
  return `, ${name}${low === high ? low : `${low} to ${high}`}${unit}`
}
