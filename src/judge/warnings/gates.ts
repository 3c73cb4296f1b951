// Gates of severity warn that do not pass.
import type { Warning } from './warning.ts'

export const gateWarnings: Warning<'gates'> = ({ gates }) =>
  gates
    .filter(({ gate, state }) => gate.severity === 'warn' && state !== 'passed')
    .map(({ gate, state, reason }) => `${gate.name} ${state}: ${reason}`)
