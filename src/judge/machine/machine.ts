// Did the machine stay fit to measure on while the runs went? What could not be seen reads "not measured".

import type { MachineSummary } from '../../measure/machine.ts'
import type { Preflight } from '../../measure/machine-record.ts'
import type { RunSummary } from '../../measure/summary.ts'
import { isMeasured } from '../../plan/plan.ts'
import { percent } from '../../text/numbers.ts'
import { listed } from '../../text/wording.ts'
import {
  type Finding,
  failed,
  type MachineCheck,
  machineCheck,
  notMeasured,
  passed,
  warned,
} from './machine-check.ts'
import { checkLock, checkPreflight } from './preflight.ts'

/** Share of steady samples with a slowdown, above which a run is not comparable. */
const MAX_SLOWDOWN_SHARE = 0.01

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
  if (isOnCpu(preflight, runs, machines)) {
    const unused = notMeasured(`the runs used ${listed(deviceNames(runs))} and no GPU of this machine`)
    return [checkLock(preflight.lock, preflight.gpus), machineCheck('GPUs', unused)]
  }
  const checks = [...checkPreflight(preflight), ...checkRuns(runs, machines)]
  const { gpus } = preflight
  return [
    checkLock(preflight.lock, preflight.gpus),
    // Without a GPU there is one reason for all.
    ...(gpus.status === 'measured'
      ? checks
      : checks.map(({ name }) => machineCheck(name, notMeasured(gpus.reason)))),
  ]
}

/** Before the first run: is there anything that would make all of it invalid? */
export function isFit(preflight: Preflight | null): boolean {
  return checkMachine(preflight, [], []).every(({ status }) => status !== 'failed')
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
  const wasSeen = machines.some(({ foreignProcesses }) => foreignProcesses !== null)
  const used = deviceNames(runs)
  return !wasSeen && used.length > 0 && !used.some((name) => names.has(name))
}

function deviceNames(runs: readonly RunSummary[]): string[] {
  return [...new Set(runs.flatMap((run) => run.deviceNames))]
}

function checkRuns(runs: readonly RunSummary[], machines: readonly MachineSummary[]): MachineCheck[] {
  const watched = runs.filter(({ runId }) => machines.some((machine) => machine.runId === runId))
  // What disturbs a warm-up launch disturbs nothing that is counted.
  const measured = new Set(runs.filter(isMeasured).map(({ runId }) => runId))
  const counted = machines.filter(({ runId }) => measured.has(runId))
  const complete = counted.filter(({ isComplete }) => isComplete)
  const incomplete = [...measured].filter((id) => !complete.some(({ runId }) => runId === id))
  const ofCounted = (check: (seen: readonly MachineSummary[]) => Finding): Finding => {
    const found = check(counted)
    return found.status !== 'failed' && incomplete.length > 0 && check(complete).status === 'passed'
      ? warned(
          `${listed(incomplete)}: the GPU monitor stopped before the run ended, so later disturbances are unknown`,
        )
      : found
  }
  const ofAll = (found: Finding): Finding =>
    // What is wrong in one run is wrong; what is right in some says nothing about the others.
    found.status === 'passed' && watched.length < runs.length
      ? notMeasured('not every run was monitored')
      : found
  return [
    machineCheck('GPU state', ofAll(checkFingerprints(machines))),
    machineCheck('throttling', ofCounted(checkThrottling)),
    machineCheck('GPU sharing', ofCounted(checkSharing)),
    machineCheck('GPU release', ofAll(checkRelease(machines))),
  ]
}

/** Why a run cannot count; empty when nothing speaks against it. A block with such a run is repeated once. */
export function machineProblems(machine: MachineSummary): string[] {
  const { slowdownShare, foreignProcesses } = machine
  return [
    ...(slowdownShare !== null && slowdownShare > MAX_SLOWDOWN_SHARE
      ? [`a GPU was slowed down by heat or hardware in ${percent(slowdownShare)} of the steady samples`]
      : []),
    ...foreignProblems(foreignProcesses),
  ]
}

/** Null: they could not be seen. */
export function foreignProblems(pids: readonly number[] | null): string[] {
  return pids === null || pids.length === 0
    ? []
    : [`${listed(pids.map((pid) => `process ${pid}`))} computed on its GPUs at the same time`]
}

function checkFingerprints(machines: readonly MachineSummary[]): Finding {
  const seen = machines.flatMap(({ fingerprintBefore, fingerprintAfter }) => [
    fingerprintBefore,
    fingerprintAfter,
  ])
  const known = seen.filter((fingerprint) => fingerprint !== null)
  const kinds = [...new Set(known)]
  if (kinds.length > 1) return failed(`it changed between runs: ${listed(kinds)}`)
  return known.length === seen.length && known.length > 0
    ? passed('same GPUs, driver, power limits and modes before and after every run')
    : notMeasured('not every run reported it')
}

function checkThrottling(machines: readonly MachineSummary[]): Finding {
  const slowed = machines.filter(({ slowdownShare }) => (slowdownShare ?? 0) > MAX_SLOWDOWN_SHARE)
  if (slowed.length > 0) {
    const list = slowed.map(({ runId, slowdownShare }) => `${runId} (${percent(slowdownShare ?? 0)})`)
    return failed(`slowed down by heat or hardware in over 1% of the steady samples: ${listed(list)}`)
  }
  const isKnown = machines.every(({ slowdownShare, isComplete }) => slowdownShare !== null && isComplete)
  if (machines.length === 0 || !isKnown) return notMeasured('not every run was monitored to its end')
  const capped = Math.max(...machines.map(({ powerCapShare }) => powerCapShare ?? 0))
  return passed(
    `no slowdown by heat or hardware in any run; at the power limit in up to ${percent(capped)} of the steady samples`,
  )
}

function checkSharing(machines: readonly MachineSummary[]): Finding {
  const shared = machines.filter(({ foreignProcesses }) => (foreignProcesses ?? []).length > 0)
  if (shared.length > 0) {
    const list = shared.map(
      ({ runId, foreignProcesses }) => `${runId} (${(foreignProcesses ?? []).join(', ')})`,
    )
    return failed(`other processes computed on the GPUs: ${listed(list)}. End them, and measure again`)
  }
  const isKnown = machines.every(
    ({ foreignProcesses, isComplete }) => foreignProcesses !== null && isComplete,
  )
  return machines.length > 0 && isKnown
    ? passed('no other process on the GPUs in any run')
    : notMeasured('the processes on the GPUs cannot be seen from here')
}

function checkRelease(machines: readonly MachineSummary[]): Finding {
  const kept = machines.filter(({ processesLeft }) => (processesLeft ?? []).length > 0)
  if (kept.length > 0)
    return failed(
      `processes stayed on the GPUs after ${listed(kept.map(({ runId }) => runId))}. End them, and measure again`,
    )
  return machines.length > 0 && machines.every(({ processesLeft }) => processesLeft !== null)
    ? passed('every run left the GPUs free')
    : notMeasured(
        machines.some(({ processesLeft }) => processesLeft !== null)
          ? 'not every run reported it'
          : 'the processes on the GPUs cannot be seen from here',
      )
}
