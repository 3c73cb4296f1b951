// Gates of severity warn that do not pass.
import { statusText } from '../../text/wording.ts'
import type { Warning } from './warning.ts'

export const gateWarnings: Warning<'gates'> = ({ gates }) =>
  gates
    .filter(({ gate, status }) => gate.severity === 'warn' && status !== 'passed')
    .map(({ gate, status, reason }) => `${gate.name} ${statusText(status)}: ${reason}`)
