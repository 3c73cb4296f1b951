// Can the experiment still pass? Where not, no further launch is worth its time.
import { VARIANTS } from '../config/experiment.ts'
import type { NotRunReason } from '../measure/outcome.ts'
import { MIN_RUNS_TO_TELL } from '../measure/steady-state.ts'
import type { RunSummary } from '../measure/summary.ts'
import { isMeasured } from '../plan/plan.ts'
import type { Check } from './checks/check.ts'
import type { GateVerdict } from './gates/gate-verdict.ts'
import type { MachineCheck } from './machine/machine-check.ts'

/** What one run is, or two differ in, stays so however many follow. */
const FINAL: ReadonlySet<Check['name']> = new Set([
  'equal work',
  'same code',
  'same data',
  'same machine',
  'clocks',
])

interface Judged {
  readonly runs: readonly RunSummary[]
  readonly machineChecks: readonly MachineCheck[]
  readonly verdict: {
    readonly checks: readonly Check[]
    readonly gates: readonly Pick<GateVerdict, 'gate' | 'status' | 'blocks'>[]
  }
}

/** Null while it may. Asked of whole blocks and their repeats: what the machine did to half of one may be set aside. */
export function earlyStop({
  runs,
  machineChecks,
  verdict: { checks, gates },
}: Judged): Extract<NotRunReason, 'failed' | 'incomparable' | 'unmeasured'> | null {
  const failed = new Set(checks.flatMap(({ name, status }) => (status === 'failed' ? [name] : [])))
  if (failed.has('completion')) return 'failed'
  const isIncomparable =
    [...failed].some((name) => FINAL.has(name)) ||
    (failed.has('steady state') && !canDetectTrend(runs)) ||
    machineChecks.some(({ status }) => status === 'failed')
  if (isIncomparable) return 'incomparable'
  // Where more runs may yet time these over other steps, they may have a number too.
  return !failed.has('steady state') && gates.some(isUnmeasured) ? 'unmeasured' : null
}

/** A gate is over all runs, so one that has no number leaves it without any. */
function isUnmeasured({ gate, status, blocks }: Judged['verdict']['gates'][number]): boolean {
  return gate.severity === 'required' && status === 'not-measured' && blocks > 0
}

/** Before, there is no trend and no change point: what is missing are steps. */
function canDetectTrend(runs: readonly RunSummary[]): boolean {
  const measured = runs.filter(isMeasured)
  return VARIANTS.some(
    (variant) => measured.filter((run) => run.variant === variant).length >= MIN_RUNS_TO_TELL,
  )
}
