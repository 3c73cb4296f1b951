// One thing about the machine that was looked at, and what was found.
import type { Measured } from '../../measure/machine-record.ts'

export interface MachineCheck {
  readonly name:
    | 'lock'
    | 'nodes'
    | 'interconnect'
    | 'GPUs'
    | 'GPU processes'
    | 'GPU memory'
    | 'ECC'
    | 'GPU probe'
    | 'GPU state'
    | 'throttling'
    | 'GPU sharing'
    | 'GPU release'
    | 'compile caches'
    | 'repeats'
    | 'step clock'
    | 'neighbours'
  /** `failed` makes the experiment invalid; `warned` and `not measured` are shown. */
  readonly status: 'passed' | 'warned' | 'failed' | 'not-measured'
  readonly detail: string
}

export type Finding = Omit<MachineCheck, 'name'>

export function checkMeasured<Value>(
  name: MachineCheck['name'],
  measured: Measured<Value>,
  check: (value: Value) => Finding,
): MachineCheck {
  return machineCheck(
    name,
    measured.status === 'measured' ? check(measured.value) : notMeasured(measured.reason),
  )
}

/** Where what told it said that not all was well, a check that passed warns of that. */
export function heedWarning<Value>(measured: Measured<Value>, check: MachineCheck): MachineCheck {
  if (measured.status === 'not-measured' || measured.warning === undefined) return check
  const detail = `${check.detail}; ${measured.warning}`
  return { ...check, status: check.status === 'passed' ? 'warned' : check.status, detail }
}

export function machineCheck(name: MachineCheck['name'], finding: Finding): MachineCheck {
  return { name, ...finding }
}

export function passed(detail: string): Finding {
  return { status: 'passed', detail }
}

export function warned(detail: string): Finding {
  return { status: 'warned', detail }
}

export function failed(detail: string): Finding {
  return { status: 'failed', detail }
}

export function notMeasured(detail: string): Finding {
  return { status: 'not-measured', detail }
}
