// What was seen of the machine -> lines and a small table: fit, undisturbed, and what its GPUs did in each variant.
import { VARIANTS, type Variant } from '../config/experiment.ts'
import type { MachineCheck } from '../judge/machine-check.ts'
import type { MachineSummary } from '../measure/machine.ts'
import type { RunSummary } from '../measure/summary.ts'
import { bytes, number, percent } from './format.ts'
import type { Result } from './result.ts'

const NOT_MEASURED = 'not measured'

export interface CheckLine {
  readonly names: string
  readonly state: MachineCheck['state']
  readonly detail: string
}

/** Those that say the same share a line, so that a machine without GPUs says once why nothing was measured. */
export function machineCheckLines({ machineChecks }: Result): CheckLine[] {
  const groups = Map.groupBy(machineChecks, ({ state, detail }) => `${state} ${detail}`)
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
  const measured = runs.filter((run) => run.variant === variant && run.block !== null)
  return {
    runs: measured,
    machines: measured.flatMap(({ runId }) => machines.find((machine) => machine.runId === runId) ?? []),
  }
}

function numbersOf(result: Result, variant: Variant): { name: string; text: string }[] {
  const { runs, machines } = seenOf(result, variant)
  const row = (name: string, value: number | null, text: (value: number) => string) => ({
    name,
    text: value === null ? NOT_MEASURED : text(value),
  })
  const mean = (value: (machine: MachineSummary) => number | null) => meanOf(machines.map(value), runs.length)
  const most = (value: (machine: MachineSummary) => number | null) => mostOf(machines.map(value), runs.length)
  // World size counts processes, which are GPUs only where there are some.
  const hours = machines.map(({ runId, gpus }) => (gpus === 0 ? null : hoursOf(runs, runId)))
  const price = result.experiment.launch.price_per_gpu_hour
  const costs = (each: number) => hours.map((count) => (count === null ? null : count * each))
  const cost = (value: number) => number(value, 3)
  const metrics = (name: string) => runs.map((run) => run.metrics[name] ?? null)
  const meanMetric = (name: string) => meanOf(metrics(name), runs.length)
  const mostMetric = (name: string) => mostOf(metrics(name), runs.length)
  return [
    row(
      'SM clock',
      mean(({ meanSmClockMhz }) => meanSmClockMhz),
      (mhz) => `${number(mhz)} MHz`,
    ),
    row(
      'slowed down by heat or hardware',
      most(({ slowdownShare }) => slowdownShare),
      percent,
    ),
    row(
      'at the power limit',
      most(({ powerCapShare }) => powerCapShare),
      percent,
    ),
    row(
      'hottest GPU',
      most(({ maxTemperatureCelsius: celsius }) => celsius),
      (celsius) => `${celsius} °C`,
    ),
    row(
      'power of all GPUs',
      mean(({ powerWatts }) => powerWatts),
      (watts) => `${number(watts, 3)} W`,
    ),
    row('energy per sample', meanMetric('energy_joules_per_sample'), (joules) => `${number(joules, 3)} J`),
    row('GPU hours of a run', meanOf(hours, runs.length), (each) => number(each, 3)),
    ...(price === undefined ? [] : [row('cost of a run', meanOf(costs(price), runs.length), cost)]),
    row(
      'any kernel ran (saturates)',
      mean(({ utilization }) => utilization),
      percent,
    ),
    row('peak memory reserved', mostMetric('peak_memory_reserved_bytes'), bytes),
    row('peak memory allocated', mostMetric('peak_memory_allocated_bytes'), bytes),
    row('allocation retries', mostMetric('allocation_retries'), String),
  ]
}

function hoursOf(runs: readonly RunSummary[], runId: string): number | null {
  return runs.find((run) => run.runId === runId)?.metrics.gpu_hours ?? null
}

/** Null unless every run told it: a number of some runs is none of the variant. */
function known(values: readonly (number | null)[], runs: number): readonly number[] | null {
  const told = values.filter((value) => value !== null)
  return told.length === runs && runs > 0 ? told : null
}

function meanOf(values: readonly (number | null)[], runs: number): number | null {
  const told = known(values, runs)
  return told && told.reduce((sum, value) => sum + value, 0) / told.length
}

function mostOf(values: readonly (number | null)[], runs: number): number | null {
  const told = known(values, runs)
  return told && Math.max(...told)
}
