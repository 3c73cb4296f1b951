// The machine of a run, as it was watched -> the metrics that come from it, one function each.
import { type MetricFrom, SECONDS_PER_SAMPLE } from '../../metrics/catalogue.ts'
import type { MachineSummary } from '../machine.ts'
import type { RunSummary } from '../summary.ts'

type Measure = (machine: MachineSummary, secondsPerSample: number | undefined) => number | null

const MEASURES: Readonly<Record<MetricFrom<'machine'>, Measure>> = {
  gpu_utilization: ({ utilization }) => utilization,
  // By the time of all that the power is of: a variant whose pauses are more of it would seem to save energy.
  energy_joules_per_sample: ({ powerWatts, steadySecondsPerSample }, secondsPerSample) =>
    powerWatts === null || steadySecondsPerSample === null || secondsPerSample === undefined
      ? null
      : powerWatts * steadySecondsPerSample,
  sm_cycles_per_sample: ({ meanSmClockMhz }, secondsPerSample) =>
    meanSmClockMhz === null || secondsPerSample === undefined
      ? null
      : meanSmClockMhz * 1e6 * secondsPerSample,
}

/** A number that was not measured stays absent. */
export function withMachineMetrics(run: RunSummary, machines: readonly MachineSummary[]): RunSummary {
  const machine = machines.find(({ runId }) => runId === run.runId)
  if (machine === undefined) return run
  const measured = Object.entries(MEASURES).flatMap(([name, measure]) => {
    const value = measure(machine, run.metrics[SECONDS_PER_SAMPLE])
    return value === null ? [] : [[name, value] as const]
  })
  return { ...run, metrics: { ...run.metrics, ...Object.fromEntries(measured) } }
}
