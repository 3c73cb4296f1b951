// A result -> the action's outputs that come from the verdict; full precision, '' for what was not measured.
import type { GateVerdict } from '../../judge/gates/gate-verdict.ts'
import type { Result } from '../../record/result.ts'
import { oneLine } from '../escape.ts'

export function verdictOutputs({ verdict }: Result): Record<string, string> {
  const speedup = verdict.gates.find(({ gate }) => gate.name === 'speedup')
  const lossDelta = verdict.gates.find(({ gate }) => gate.name === 'loss_delta')
  return {
    verdict: verdict.verdict,
    reason: oneLine(verdict.reason),
    speedup: text(speedup?.evidence?.estimate),
    'speedup-lower-bound': text(bounds(speedup)?.lower),
    'loss-delta': text(lossDelta?.evidence?.estimate),
    'loss-delta-upper-bound': text(bounds(lossDelta)?.upper),
  }
}

function bounds(gate: GateVerdict | undefined) {
  return gate?.evidence?.bounds
}

function text(value: number | undefined): string {
  return value === undefined ? '' : String(value)
}
