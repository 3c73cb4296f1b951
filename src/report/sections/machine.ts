// What was seen of the machine -> lines and a small table: fit, undisturbed, and what its GPUs did in each variant.

import { VARIANTS, type Variant } from '../../config/experiment.ts'
import type { MachineCheck } from '../../judge/machine/machine-check.ts'
import type { MachineSummary } from '../../measure/machine.ts'
import type { RunSummary } from '../../measure/summary.ts'
import {
  ALLOCATION_RETRIES,
  ENERGY_PER_SAMPLE,
  GPU_HOURS,
  PEAK_MEMORY_ALLOCATED,
  PEAK_MEMORY_RESERVED,
} from '../../metrics/catalogue.ts'
import { isMeasured } from '../../plan/plan.ts'
import type { Result } from '../../record/result.ts'
import { meanOf } from '../../statistics/averages.ts'
import { bytes, number, percent } from '../../text/numbers.ts'
import { statusText } from '../../text/wording.ts'
import { escapeCell } from '../escape.ts'
import { ruleLink } from '../rules.ts'
import { folded, type Section, table } from '../section.ts'
import { countsText } from './checks.ts'

export const machineSection: Section = (result) => ({
  kind: 'details',
  title: 'the machine',
  markdown: folded(`Machine: ${countsText(result.machineChecks)}`, machineTables(result)),
})

function machineTables(result: Result): string {
  const checks = machineCheckLines(result).map(({ names, status, detail }) => [
    names,
    statusText(status),
    escapeCell(detail, 600),
  ])
  const { rows, notMeasured } = machineNumbers(result)
  return [
    table([['check', 'state', 'detail'], ...checks]),
    ...(rows.length === 0 ? [] : [table([MACHINE_HEAD, ...rows])]),
    ...(notMeasured.length === 0 ? [] : [`Not measured: ${notMeasured.join(', ')}.`]),
    ruleLink('What each check asks', 'checks'),
  ].join('\n\n')
}

const NOT_MEASURED = 'not measured'

export interface CheckLine {
  readonly names: string
  readonly status: MachineCheck['status']
  readonly detail: string
}

/** Those that say the same share a line, so that a machine without GPUs says once why nothing was measured. */
export function machineCheckLines({ machineChecks }: Result): CheckLine[] {
  const groups = Map.groupBy(machineChecks, ({ status, detail }) => `${status} ${detail}`)
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    return first ? [{ ...first, names: group.map(({ name }) => name).join(', ') }] : []
  })
}

/** Clocks, power and energy are means over the runs, shares and the rest are those of the worst run. */
export const MACHINE_HEAD = ['GPUs', ...VARIANTS] as const

export interface MachineNumbers {
  /** One a number, over the runs that count; not measured in one variant alone reads so. */
  readonly rows: readonly string[][]
  /** Names of the numbers that neither variant has. */
  readonly notMeasured: readonly string[]
}

export function machineNumbers(result: Result): MachineNumbers {
  const [baseline, optimized] = [numbersOf(result, 'baseline'), numbersOf(result, 'optimized')]
  const rows = baseline.map(({ name, text }, index) => [name, text, optimized[index]?.text ?? NOT_MEASURED])
  const isMeasured = ([, ...texts]: readonly string[]) => texts.some((text) => text !== NOT_MEASURED)
  return {
    rows: rows.filter(isMeasured),
    notMeasured: rows.filter((row) => !isMeasured(row)).map(([name = '']) => name),
  }
}

interface Seen {
  readonly runs: readonly RunSummary[]
  readonly machines: readonly MachineSummary[]
}

function seenOf({ runs, machines }: Result, variant: Variant): Seen {
  const measured = runs.filter((run) => run.variant === variant && isMeasured(run))
  return {
    runs: measured,
    machines: measured.flatMap(({ runId }) => machines.find((machine) => machine.runId === runId) ?? []),
  }
}

interface Numbers {
  readonly name: string
  readonly text: string
}

function numbersOf(result: Result, variant: Variant): Numbers[] {
  const seen = seenOf(result, variant)
  const price = result.experiment.launch.price_per_gpu_hour
  // Without a GPU there are no such hours: a gate of them says what it counts instead.
  const hasGpus = result.machines.some(({ gpus }) => gpus > 0)
  return [
    ...activityOf(seen),
    row('energy per sample', energyOf(seen), (joules) => `${number(joules, 3)} J`),
    ...(hasGpus ? costsOf(seen, price) : []),
    ...memoryOf(seen),
  ]
}

function activityOf({ runs, machines }: Seen): Numbers[] {
  const mean = (key: MachineNumber) => meanOfRuns(valuesOf(machines, key), runs.length)
  const most = (key: MachineNumber) => mostOfRuns(valuesOf(machines, key), runs.length)
  return [
    row('SM clock', mean('meanSmClockMhz'), (mhz) => `${number(mhz)} MHz`),
    row('slowed down by heat or hardware', most('slowdownShare'), percent),
    row('at the power limit', most('powerCapShare'), percent),
    row('hottest GPU', most('maxTemperatureCelsius'), (celsius) => `${celsius} °C`),
    row('any kernel ran (saturates)', mean('utilization'), percent),
    row('power of all GPUs', mean('powerWatts'), (watts) => `${number(watts, 3)} W`),
  ]
}

function energyOf({ runs }: Seen): number | null {
  return meanOfRuns(metricOf(runs, ENERGY_PER_SAMPLE), runs.length)
}

function costsOf({ runs }: Seen, price: number | undefined): Numbers[] {
  const hours = meanOfRuns(metricOf(runs, GPU_HOURS), runs.length)
  return [
    row('GPU hours of a run', hours, (value) => number(value, 3)),
    ...(price === undefined ? [] : [row('cost of a run', hours, (value) => number(value * price, 3))]),
  ]
}

function memoryOf({ runs }: Seen): Numbers[] {
  const most = (metric: string) => mostOfRuns(metricOf(runs, metric), runs.length)
  return [
    row('peak memory reserved', most(PEAK_MEMORY_RESERVED), bytes),
    row('peak memory allocated', most(PEAK_MEMORY_ALLOCATED), bytes),
    row('allocation retries', most(ALLOCATION_RETRIES), String),
  ]
}

function row(name: string, value: number | null, text: (value: number) => string): Numbers {
  return { name, text: value === null ? NOT_MEASURED : text(value) }
}

type MachineNumber =
  | 'meanSmClockMhz'
  | 'slowdownShare'
  | 'powerCapShare'
  | 'maxTemperatureCelsius'
  | 'utilization'
  | 'powerWatts'

function valuesOf(machines: readonly MachineSummary[], key: MachineNumber): (number | null)[] {
  return machines.map((machine) => machine[key])
}

function metricOf(runs: readonly RunSummary[], metric: string): (number | null)[] {
  return runs.map(({ metrics }) => metrics[metric] ?? null)
}

/** Null unless every run reported it: a number of some runs does not speak for the variant. */
function known(values: readonly (number | null)[], runs: number): readonly number[] | null {
  const told = values.filter((value) => value !== null)
  return told.length === runs && runs > 0 ? told : null
}

function meanOfRuns(values: readonly (number | null)[], runs: number): number | null {
  const told = known(values, runs)
  return told && meanOf(told)
}

function mostOfRuns(values: readonly (number | null)[], runs: number): number | null {
  const told = known(values, runs)
  return told && Math.max(...told)
}
