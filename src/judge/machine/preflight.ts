// Is the machine fit to measure on? What could not be seen reads "not measured".
import type { Gate } from '../../config/gates/gates.ts'
import type { GpuFacts, GpuProbe, LockFacts, Preflight } from '../../measure/machine-record.ts'
import { needsGpu } from '../../metrics/questions.ts'
import { duration, percent } from '../../text/numbers.ts'
import { listed } from '../../text/wording.ts'
import {
  checkMeasured,
  type Finding,
  failed,
  type MachineCheck,
  machineCheck,
  notMeasured,
  passed,
} from './machine-check.ts'

/** Of the fastest GPU's probe over the slowest one's, minus 1. */
const PROBE_DIFFERENCE = { warns: 0.03, fails: 0.1 } as const
/** A driver and its context take some of the memory of an idle GPU. */
const MAX_IDLE_MEMORY_SHARE = 0.05

export function checkPreflight({
  gpus,
  processes,
  processesWanted,
  probes,
}: Omit<Preflight, 'host' | 'lock'>): MachineCheck[] {
  if (gpus.status === 'measured' && gpus.value.length === 0)
    return [machineCheck('GPUs', checkGpus([], processesWanted))]
  return [
    checkMeasured('GPUs', gpus, (found) => checkGpus(found, processesWanted)),
    checkMeasured('GPU processes', processes, (found) =>
      found.length === 0
        ? passed('no other process computes on them')
        : failed(
            `${listed(found.map(({ pid }) => `process ${pid}`))} on the GPUs of this experiment; end it, or choose other GPUs with CUDA_VISIBLE_DEVICES`,
          ),
    ),
    checkMeasured('GPU memory', gpus, checkMemory),
    checkMeasured('ECC', gpus, checkEcc),
    checkMeasured('GPU probe', probes, checkProbes),
  ]
}

/** Said before hours are spent on a verdict that may be out of reach; null where no gate asks for a GPU, or one is seen. */
export function lackOfGpus(gates: readonly Gate[], preflight: Preflight | null): string | null {
  const lacking = gates.filter(({ severity, metric }) => severity === 'required' && needsGpu(metric))
  if (preflight?.gpus.status !== 'not-measured' || lacking.length === 0) return null
  return `no GPU was found (${preflight.gpus.reason}). If the trainings run on the CPU, the required ${listed(lacking.map(({ name }) => name))} cannot be measured`
}

export function checkLock(lock: LockFacts, gpus: Preflight['gpus']): MachineCheck {
  const waited = `waited ${duration(lock.waitedSeconds)} for ${lock.waitedFor}`
  if (lock.status === 'timed-out') {
    const hasGpus = gpus.status === 'measured' && gpus.value.length > 0
    const remedy = hasGpus ? 'end it, choose other GPUs with CUDA_VISIBLE_DEVICES, or' : 'end it, or'
    return machineCheck('lock', failed(`${waited}; ${remedy} raise launch.lock_minutes`))
  }
  if (lock.status === 'lost')
    return machineCheck(
      'lock',
      failed(
        `lost: ${lock.reason}, so that another experiment may have run at the same time; find out what did this, and run again`,
      ),
    )
  return machineCheck(
    'lock',
    passed(`no other experiment here${lock.waitedFor === null ? '' : `, ${waited}`}`),
  )
}

function checkGpus(gpus: readonly GpuFacts[], processesWanted: number): Finding {
  const kinds = new Set(gpus.map(({ name, driver }) => `${name}, driver ${driver}`))
  if (kinds.size > 1)
    return failed(
      `found ${listed([...kinds])}, expected one kind of GPU. Choose some of one kind with CUDA_VISIBLE_DEVICES`,
    )
  if (gpus.length < processesWanted) {
    return failed(
      `${gpus.length} visible for ${processesWanted} processes; lower nproc-per-node, or set CUDA_VISIBLE_DEVICES to '' for a training on the CPU`,
    )
  }
  if (gpus.some(({ migMode }) => migMode === 'Enabled'))
    return failed('a GPU is split by MIG, so others can work on it; switch MIG off')
  return passed(`${gpus.length} x ${[...kinds][0] ?? 'none'}`)
}

function checkMemory(gpus: readonly GpuFacts[]): Finding {
  const shares = gpus.map(({ memoryUsedBytes, memoryTotalBytes }) =>
    memoryUsedBytes === null || !memoryTotalBytes ? null : memoryUsedBytes / memoryTotalBytes,
  )
  const known = shares.filter((share) => share !== null)
  if (known.length < shares.length) return notMeasured('the driver does not report the memory in use')
  const most = Math.max(...known)
  return most > MAX_IDLE_MEMORY_SHARE
    ? failed(
        `${percent(most)} of a GPU's memory is in use before the first run, expected at most ${percent(MAX_IDLE_MEMORY_SHARE)}. End the process that holds it`,
      )
    : passed(`at most ${percent(most)} in use before the first run`)
}

function checkEcc(gpus: readonly GpuFacts[]): Finding {
  const pending = gpus.filter(({ hasPendingEccErrors }) => hasPendingEccErrors === true)
  if (pending.length > 0)
    return failed(
      `pending memory errors on ${listed(pending.map(({ index }) => `GPU ${index}`))}; reset the GPU or restart the machine`,
    )
  return gpus.every(({ hasPendingEccErrors }) => hasPendingEccErrors === false)
    ? passed('no pending memory errors')
    : notMeasured('the driver does not report pending memory errors')
}

function checkProbes(probes: readonly GpuProbe[]): Finding {
  const product = relativeDifference(probes.map(({ productTflops }) => productTflops))
  const copy = relativeDifference(probes.map(({ copyGigabytesPerSecond }) => copyGigabytesPerSecond))
  if (product === null || copy === null) return failed('a GPU did no work in the probe')
  if (probes.length === 1) return passed('one GPU, so there is no other to compare it with')
  const detail = `the fastest GPU is ${percent(product)} ahead of the slowest in matrix products and ${percent(copy)} in copies`
  const worst = Math.max(product, copy)
  if (worst > PROBE_DIFFERENCE.fails)
    return failed(
      `${detail}. At most ${percent(PROBE_DIFFERENCE.fails)} is expected: check the cooling, power and slot of each GPU`,
    )
  return worst > PROBE_DIFFERENCE.warns ? { status: 'warned', detail } : passed(detail)
}

/** Largest over smallest, minus 1; null when that is no number. */
function relativeDifference(values: readonly number[]): number | null {
  const share = Math.max(...values) / Math.min(...values) - 1
  return Number.isFinite(share) ? share : null
}
