// What is wrong with the machine makes a verdict invalid; what is right with it proves nothing.
import { asInvalid } from './invalid.ts'
import type { MachineCheck } from './machine-check.ts'
import type { Verdict } from './verdict.ts'

export function withMachine(verdict: Verdict, checks: readonly MachineCheck[]): Verdict {
  const details = (wanted: MachineCheck['state']) =>
    checks.filter(({ state }) => state === wanted).map(({ name, detail }) => `${name}: ${detail}`)
  const warnings = [...verdict.warnings, ...details('warned')]
  return asInvalid({ ...verdict, warnings }, details('failed'))
}
