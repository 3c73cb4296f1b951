// Is the machine fit to measure on, and did it stay so? What could not be seen reads "not measured".
import type { Experiment } from '../../config/experiment.ts'
import type { MachineSummary } from '../../measure/machine.ts'
import type { Preflight } from '../../measure/machine-record.ts'
import type { RunSummary } from '../../measure/summary.ts'
import { listed } from '../../text/wording.ts'
import { checkInterconnect } from './interconnect.ts'
import { failed, type MachineCheck, machineCheck, notMeasured } from './machine-check.ts'
import { checkAlike, checkNodes } from './nodes.ts'
import { checkLock } from './preflight.ts'
import { checkRuns, sawProcesses, unlockedRuns } from './runs.ts'

/**
 * `failed` makes an experiment invalid; all else is shown. `runs` are the finished ones that count, `machines` all that
 * were watched, also those that were set aside.
 */
export function checkMachine(
  preflight: Preflight | null,
  runs: readonly RunSummary[],
  machines: readonly MachineSummary[],
): MachineCheck[] {
  if (preflight === null) return [machineCheck('GPUs', notMeasured('the machine was not checked'))]
  const always = [lockCheck(preflight, machines), ...checkAlike(preflight)]
  if (isOnCpu(preflight, runs, machines)) {
    const unused = notMeasured(`the runs used ${listed(deviceNames(runs))} and no GPU of this machine`)
    return [...always, machineCheck('GPUs', unused)]
  }
  const checks = [...checkNodes(preflight), ...checkRuns(runs, machines)]
  const { gpus } = preflight
  return [
    ...always,
    // Without a GPU there is one reason for all.
    ...(gpus.status === 'measured'
      ? checks
      : checks.map(({ name }) => machineCheck(name, notMeasured(gpus.reason)))),
  ]
}

/** Of the experiment, and of each launch on the nodes whose watchers lock them. */
function lockCheck({ lock, gpus, nodes }: Preflight, machines: readonly MachineSummary[]): MachineCheck {
  const check = checkLock(lock, gpus)
  const unlocked = unlockedRuns(machines)
  // On the nodes of a cluster it is their watchers that lock.
  const isUntold = nodes !== undefined && machines.some(({ isWhole }) => !isWhole)
  if (isUntold && check.status === 'passed' && unlocked.length === 0)
    return machineCheck('lock', notMeasured('not every node told in every run whether it was locked'))
  return check.status === 'failed' || unlocked.length === 0
    ? check
    : machineCheck(
        'lock',
        failed(`another experiment may have run at the same time: ${listed(unlocked)}. Measure again`),
      )
}

/** Before the first run: what would make all of it invalid. */
export function unfitChecks(experiment: Experiment, preflight: Preflight | null): MachineCheck[] {
  const checks = [...checkMachine(preflight, [], []), ...checkInterconnect(experiment, preflight)]
  return checks.filter(({ status }) => status === 'failed')
}

export function isFit(experiment: Experiment, preflight: Preflight | null): boolean {
  return unfitChecks(experiment, preflight).length === 0
}

/** Empty where the watched GPUs stood idle while the training ran on the CPU: their numbers are not its own. */
export function usedMachines(
  preflight: Preflight | null,
  runs: readonly RunSummary[],
  machines: readonly MachineSummary[],
): readonly MachineSummary[] {
  return preflight !== null && isOnCpu(preflight, runs, machines) ? [] : machines
}

/** A machine with GPUs may well train on its CPU. */
function isOnCpu(
  { gpus }: Preflight,
  runs: readonly RunSummary[],
  machines: readonly MachineSummary[],
): boolean {
  if (gpus.status === 'not-measured' || runs.length === 0) return false
  const names = new Set(gpus.value.map(({ name }) => name))
  const used = deviceNames(runs)
  return !sawProcesses(machines) && used.length > 0 && !used.some((name) => names.has(name))
}

function deviceNames(runs: readonly RunSummary[]): string[] {
  return [...new Set(runs.flatMap((run) => run.deviceNames))]
}
