// Checks and gates -> one verdict with its reason.
import { statusText } from '../text/wording.ts'
import { checkAa } from './checks/aa.ts'
import { checkAll } from './checks/all.ts'
import type { Check } from './checks/check.ts'
import type { GateVerdict } from './gates/gate-verdict.ts'
import { type JudgedGate, judgeGates } from './gates/judge-gates.ts'
import type { Speedups } from './speedups.ts'
import { type Evidence, type VerdictInput, verdictInputOf } from './verdict-input.ts'
import { WARNINGS } from './warnings/all.ts'

export type VerdictName = 'passed' | 'failed' | 'inconclusive' | 'invalid'

export interface Verdict extends Pick<VerdictInput, 'noise' | 'aa'> {
  readonly verdict: VerdictName
  readonly reason: string
  readonly checks: readonly Check[]
  readonly gates: readonly JudgedGate[]
  readonly warnings: readonly string[]
  /** Shown with the gates: evidence that decides nothing. */
  readonly speedups: Speedups
  /** False at an early look, which can only fail. */
  readonly mayPass: boolean
}

export function judge(evidence: Evidence): Verdict {
  const input = verdictInputOf(evidence)
  const { comparison, noise, aa } = input
  const checks = checkAll(input)
  const gates = judgeGates(input)
  return {
    ...decide(checks, gates, input),
    checks,
    gates,
    warnings: [
      ...checks.flatMap(({ name, status, detail }) => (status === 'warned' ? [`${name}: ${detail}`] : [])),
      ...WARNINGS.flatMap((warningsOf) => warningsOf({ ...input, gates })),
    ],
    speedups: comparison.speedups,
    mayPass: comparison.look.mayPass,
    noise,
    aa,
  }
}

/** More blocks are worth their time only for a required gate that they can decide, or a trend that they can clear up. */
export function isDecided({ verdict, checks, gates, mayPass }: Verdict): boolean {
  if (!mayPass) return verdict === 'failed' || verdict === 'invalid'
  const isOpen = gates.some(
    ({ gate, status, staysOpen }) => gate.severity === 'required' && status === 'inconclusive' && !staysOpen,
  )
  return verdict !== 'inconclusive' || !(isOpen || checks.some(isUnsettledTrend))
}

/** The gates are decided, but not by the later half of the steps, which more blocks may decide in the same way. */
function isUnsettledTrend({ name, status }: Check): boolean {
  return name === 'steady state' && status === 'inconclusive'
}

/** A failed launch fails; then incomparable runs are invalid; then a required gate decides; only proof passes. */
function decide(
  [completion, ...validity]: readonly [Check, ...Check[]],
  gates: readonly GateVerdict[],
  { aa, stopped, comparison }: Pick<VerdictInput, 'aa' | 'stopped' | 'comparison'>,
): Pick<Verdict, 'verdict' | 'reason'> {
  if (completion.status === 'failed') return { verdict: 'failed', reason: completion.detail }
  const broken = validity.filter(({ status }) => status === 'failed')
  if (broken.length > 0) {
    return { verdict: 'invalid', reason: broken.map(({ name, detail }) => `${name}: ${detail}`).join('; ') }
  }
  const required = gates.filter(({ gate }) => gate.severity === 'required')
  const named = (states: readonly string[]) =>
    required
      .filter(({ status }) => states.includes(status))
      .map(({ gate, status, reason }) => `${gate.name} ${statusText(status)}: ${reason}`)
  if (completion.status !== 'passed') {
    const unmeasured = stopped?.cause === 'unmeasured' ? named(['not-measured']) : []
    const reason = [`stopped early: ${completion.detail}`, ...unmeasured].join('; ')
    return { verdict: 'inconclusive', reason }
  }
  const failed = validity.some(isUnsettledTrend) ? [] : named(['failed'])
  if (failed.length > 0) return { verdict: 'failed', reason: failed.join('; ') }
  const open = named(['inconclusive', 'not-measured'])
  if (open.length > 0) return { verdict: 'inconclusive', reason: open.join('; ') }
  // What cannot be seen here (no GPU, no stored noise floor) is shown as not measured and stops nothing.
  const unclear = validity.filter(({ status }) => status === 'inconclusive')
  if (unclear.length > 0)
    return {
      verdict: 'inconclusive',
      reason: unclear.map(({ name, detail }) => `${name}: ${detail}`).join('; '),
    }
  if (!comparison.look.mayPass) return { verdict: 'inconclusive', reason: TOO_EARLY }
  return {
    verdict: 'passed',
    reason: aa === null ? passedReason(completion, required) : `${completion.detail}; ${checkAa(aa).detail}`,
  }
}

const TOO_EARLY = 'the experiment ended after a look that can only fail. Measure more blocks to pass'

/** More names than that are in the table alone. */
const MOST_NAMED = 4

function passedReason(completion: Check, required: readonly GateVerdict[]): string {
  const names = required.map(({ gate }) => gate.name)
  const gates =
    names.length > 0
      ? `required gates passed: ${names.length > MOST_NAMED ? `all ${names.length}` : names.join(', ')}`
      : 'no claim about speed or quality, because every gate has severity: info'
  return `${completion.detail} with equal work; ${gates}`
}
