// Outcomes, validity and gates -> one verdict with its reason.
import { type Experiment, gatesOf } from '../config/experiment.ts'
import type { ResolvedConfigs } from '../config/same-work/same-work.ts'
import type { RunOutcome } from '../measure/outcome.ts'
import { NOT_REEVALUATED, type Reevaluation } from '../measure/reevaluation.ts'
import type { RunSummary } from '../measure/summary.ts'
import { confidenceOf, lookAt, looksOf } from '../plan/looks.ts'
import { isMeasured } from '../plan/plan.ts'
import { type AaFinding, checkAa, findAa } from './checks/aa.ts'
import type { Check } from './checks/check.ts'
import {
  checkNoise,
  compareWithFloors,
  type Floors,
  NO_FLOORS,
  type NoiseComparison,
} from './checks/noise.ts'
import { checkReevaluation } from './checks/reevaluation.ts'
import { checkValidity } from './checks/validity.ts'
import type { Comparison } from './compare.ts'
import { type GateVerdict, judgeGate, lacksScatter } from './gates/gate-verdict.ts'
import { requireRatioGate } from './gates/insensitive-limit.ts'
import { type Precision, precisionOf } from './gates/precision.ts'
import type { Speedups } from './speedups.ts'
import { allocationWarnings } from './warnings/allocation.ts'
import { coarseNoiseFloorWarnings } from './warnings/coarse-noise-floor.ts'
import { outlierWarnings } from './warnings/outliers.ts'
import { readBackWarnings } from './warnings/read-back.ts'
import { sameSeedWarnings } from './warnings/same-seed.ts'
import { slowStepWarnings } from './warnings/slow-steps.ts'
import { stateBetweenRunsWarnings } from './warnings/state-between-runs.ts'
import { suspiciousImprovementWarnings } from './warnings/suspicious-improvement.ts'
import { isInVain, type WhyStopped, whyStopped } from './why-stopped.ts'

export type VerdictName = 'passed' | 'failed' | 'inconclusive' | 'invalid'

export interface Verdict {
  readonly verdict: VerdictName
  readonly reason: string
  readonly checks: readonly Check[]
  readonly gates: readonly JudgedGate[]
  readonly warnings: readonly string[]
  /** Beside the gates: evidence that decides nothing. */
  readonly speedups: Speedups
  readonly noise: NoiseComparison
  /** Null unless the experiment is one. */
  readonly aa: AaFinding | null
}

export interface JudgedGate extends GateVerdict {
  readonly precision: Precision | null
}

/**
 * `floors`: how this machine is known to scatter by itself, for the training of each variant. `configs` were handed
 * over to the runs; null where the caller has none.
 */
export function judge(
  experiment: Experiment,
  outcomes: readonly RunOutcome[],
  runs: readonly RunSummary[],
  comparison: Comparison,
  floors: Floors = NO_FLOORS,
  reevaluation: Reevaluation = NOT_REEVALUATED,
  configs: ResolvedConfigs | null = null,
): Verdict {
  const completion = checkCompletion(outcomes)
  const measured = runs.filter(isMeasured)
  const noise = compareWithFloors(measured, floors, looksOf(experiment).length)
  const aa = experiment.mode === 'aa' ? findAa(measured) : null
  const validity = [
    ...checkValidity(experiment, measured, configs),
    checkReevaluation(experiment, measured, reevaluation),
    aa === null ? checkNoise(noise) : checkAa(aa),
  ]
  const few = whyStopped(experiment, outcomes)
  // How many blocks would decide a gate is of its own evidence: none, where only the gate beside it is open.
  const judged = comparison.gates
    .map((gate) => judgeGate(gate, few))
    .map((gate) => ({ ...gate, precision: precisionIn(experiment, gate, few) }))
  const gates = requireRatioGate(judged)
  return {
    ...decide(completion, validity, gates, { aa, few }),
    checks: [completion, ...validity],
    gates,
    warnings: [
      ...gateWarnings(gates),
      ...suspiciousImprovementWarnings(experiment, gates),
      ...(aa === null ? slowStepWarnings(gates, comparison.speedups) : []),
      ...sameSeedWarnings(experiment, measured),
      ...stateBetweenRunsWarnings(runs),
      ...outlierWarnings(measured),
      ...allocationWarnings(measured),
      ...readBackWarnings(experiment, measured),
      ...coarseNoiseFloorWarnings(gatesOf(experiment), noise, {
        blocks: looksOf(experiment).at(-1) ?? 0,
        confidence: confidenceOf(lookAt(experiment, Number.POSITIVE_INFINITY)),
      }),
    ],
    speedups: comparison.speedups,
    noise,
    aa,
  }
}

/** An A/A has nothing to decide, and of runs in vain no number of blocks would decide anything. */
function precisionIn({ mode }: Experiment, gate: GateVerdict, few: WhyStopped | null): Precision | null {
  const precision = precisionOf(gate)
  const hasNothingToDecide = mode === 'aa' || (few !== null && isInVain(few))
  return precision && hasNothingToDecide ? { ...precision, toDecide: { status: 'decided' } } : precision
}

/** More blocks are worth their time only for a required gate that they can decide. */
export function isDecided({ verdict, gates }: Verdict): boolean {
  const isOpen = gates.some(
    (one) => one.gate.severity === 'required' && one.state === 'inconclusive' && !lacksScatter(one),
  )
  return verdict !== 'inconclusive' || !isOpen
}

function checkCompletion(outcomes: readonly RunOutcome[]): Check {
  const notNeeded = outcomes.filter(
    (outcome) =>
      outcome.status === 'not-run' && (outcome.reason === 'decided' || outcome.reason === 'budget'),
  )
  const needed = outcomes.length - notNeeded.length
  const finished = outcomes.filter(({ status }) => status === 'finished').length
  const failed = outcomes.filter((outcome) => outcome.status === 'failed')
  const detail = `${finished} of ${needed} launches finished${notNeededText(notNeeded)}${inVainText(outcomes)}`
  if (failed.length > 0) {
    const list = failed.map(({ run, reason, message }) => `${run.id}: ${reason} (${message})`).join('; ')
    return { name: 'completion', state: 'failed', detail: `${detail}; ${list}` }
  }
  return {
    name: 'completion',
    state: finished === needed && finished > 0 ? 'passed' : 'inconclusive',
    detail,
  }
}

function notNeededText(outcomes: readonly RunOutcome[]): string {
  const [first] = outcomes
  if (first?.status !== 'not-run') return ''
  const why =
    first.reason === 'decided'
      ? 'not needed, since the verdict was decided'
      : 'not run, since the budget is spent'
  return `; ${outcomes.length} more were ${why}`
}

/** Said of when they were left out: judged by another experiment, the others may be comparable after all. */
function inVainText(outcomes: readonly RunOutcome[]): string {
  const reasons = outcomes.map((outcome) => (outcome.status === 'not-run' ? outcome.reason : null))
  if (reasons.includes('failed')) return '; the rest was left out after one that failed'
  if (reasons.includes('incomparable')) return '; the rest was left out after some that could not be compared'
  return reasons.includes('unmeasured')
    ? '; the rest was left out after some without a number for a required gate'
    : ''
}

/** A failed launch fails; then incomparable runs are invalid; then a required gate decides; only proof passes. */
function decide(
  completion: Check,
  validity: readonly Check[],
  gates: readonly GateVerdict[],
  { aa, few }: { readonly aa: AaFinding | null; readonly few: WhyStopped | null },
): Pick<Verdict, 'verdict' | 'reason'> {
  if (completion.state === 'failed') return { verdict: 'failed', reason: completion.detail }
  const broken = validity.filter(({ state }) => state === 'failed')
  if (broken.length > 0) {
    return { verdict: 'invalid', reason: broken.map(({ name, detail }) => `${name}: ${detail}`).join('; ') }
  }
  const required = gates.filter(({ gate }) => gate.severity === 'required')
  const named = (states: readonly string[]) =>
    required
      .filter(({ state }) => states.includes(state))
      .map(({ gate, state, reason }) => `${gate.name} ${state}: ${reason}`)
  if (completion.state !== 'passed') {
    const unmeasured = few?.cause === 'unmeasured' ? named(['not measured']) : []
    const reason = [`stopped early: ${completion.detail}`, ...unmeasured].join('; ')
    return { verdict: 'inconclusive', reason }
  }
  const failed = named(['failed'])
  if (failed.length > 0) return { verdict: 'failed', reason: failed.join('; ') }
  const open = named(['inconclusive', 'not measured'])
  if (open.length > 0) return { verdict: 'inconclusive', reason: open.join('; ') }
  // What cannot be seen here (no GPU, no stored noise floor) is shown as not measured and stops nothing.
  const unclear = validity.filter(({ state }) => state === 'inconclusive')
  if (unclear.length > 0)
    return {
      verdict: 'inconclusive',
      reason: unclear.map(({ name, detail }) => `${name}: ${detail}`).join('; '),
    }
  return {
    verdict: 'passed',
    reason: aa === null ? passedReason(completion, required) : `${completion.detail}; ${checkAa(aa).detail}`,
  }
}

function passedReason(completion: Check, required: readonly GateVerdict[]): string {
  const names = required.map(({ gate }) => gate.name)
  const gates =
    names.length > 0
      ? `required gates passed: ${names.join(', ')}`
      : 'nothing is claimed about speed or quality, since every gate is information'
  return `${completion.detail} with equal work; ${gates}`
}

function gateWarnings(gates: readonly GateVerdict[]): string[] {
  return gates
    .filter(({ gate, state }) => gate.severity === 'warn' && state !== 'passed')
    .map(({ gate, state, reason }) => `${gate.name} ${state}: ${reason}`)
}
