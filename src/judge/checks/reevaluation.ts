// Do the held-out numbers that the trainings reported come out again, from their checkpoints and one evaluation code?
import { type Experiment, gatesOf } from '../../config/experiment.ts'
import type { Gate } from '../../config/gates/gates.ts'
import type { Reevaluation } from '../../measure/reevaluation.ts'
import type { RunSummary } from '../../measure/summary.ts'
import { HELD_OUT_LOSS, TIME_TO_EACH_QUALITY, TIME_TO_QUALITY } from '../../metrics/catalogue.ts'
import { isLossOfPart } from '../../metrics/families.ts'
import { isMeasured } from '../../plan/plan.ts'
import { number, percent } from '../../text/numbers.ts'
import { listed } from '../../text/wording.ts'
import { isHeldOutQuality, isLevel, unitOf } from '../gates/gate-kind.ts'
import type { VerdictInput } from '../verdict-input.ts'
import type { Check } from './check.ts'

/** Of what a gate's limit allows: a disagreement that small moves no verdict but one that hangs by a thread. */
const SHARE_OF_LIMIT = 0.1
/** Of a level's limit, and of a loss that a time rests on. */
const SHARE_OF_LEVEL = 0.01
/** Of any reported number: other batches and devices add in another order. */
const ROUNDING = 1e-4

/** Nothing is asked of a trainer that cannot, of an A/A, or where no gate looks at held-out numbers. */
export function whyNotReevaluated(experiment: Experiment): string | null {
  if (experiment.trainer.evaluate_command === undefined)
    return 'not re-evaluated: trainer.evaluate_command is not set'
  if (experiment.mode === 'aa') return 'not re-evaluated: an A/A experiment does not judge quality'
  return gatesOf(experiment).some(restsOnHeldOut) ? null : 'not re-evaluated: no gate uses held-out numbers'
}

/** A time to quality ends where the baseline's last losses are reached: the larger they are, the shorter it is. */
function restsOnHeldOut(gate: Gate): boolean {
  return isHeldOutQuality(gate) || TIMES.includes(gate.metric)
}

const TIMES: readonly string[] = [TIME_TO_QUALITY, TIME_TO_EACH_QUALITY]

/** What a gate looks at of a run's end. */
function lastNumbersOf({ metric }: Gate, { metrics }: RunSummary): string[] {
  if (!TIMES.includes(metric)) return [metric]
  const parts = metric === TIME_TO_EACH_QUALITY ? Object.keys(metrics).filter(isLossOfPart) : []
  return [HELD_OUT_LOSS, ...parts]
}

interface Judged {
  readonly experiment: Experiment
  readonly runs: readonly RunSummary[]
  readonly verdict: { readonly checks: readonly Check[] }
}

/** Ids of the runs that count, once all is launched: before that their numbers decide nothing. */
export function runsToReevaluate({ experiment, runs, verdict }: Judged): string[] {
  const isComplete = verdict.checks.every(({ name, status }) => name !== 'completion' || status === 'passed')
  if (!isComplete || whyNotReevaluated(experiment) !== null) return []
  return runs.filter(isMeasured).map(({ runId }) => runId)
}

export function checkReevaluation({
  experiment,
  measured: runs,
  reevaluation: { launch, numbers, problem, doubled },
}: Pick<VerdictInput, 'experiment' | 'measured' | 'reevaluation'>): Check {
  const name = 'evaluation'
  const skipped = whyNotReevaluated(experiment)
  if (skipped !== null) return { name, status: 'not-measured', detail: skipped }
  if (launch === null && numbers.size === 0)
    return { name, status: 'inconclusive', detail: `not re-evaluated: ${problem}` }
  const gates = gatesOf(experiment).filter(restsOnHeldOut)
  const disagreements = runs.flatMap((run) => {
    const again = numbers.get(run.runId)
    return again === undefined ? [] : disagreementsOf(run, again, gates)
  })
  const wrong = [...doubled, ...disagreements]
  if (wrong.length > 0) return { name, status: 'failed', detail: wrong.slice(0, 4).join('; ') }
  const missing = runs.filter(({ runId }) => !numbers.has(runId))
  if (launch === null && missing.length === 0)
    return {
      name,
      status: 'inconclusive',
      detail: 'the experiment ended during the evaluation, so the evaluation has no record',
    }
  if (problem !== null || missing.length > 0) {
    const which = missing.length === 0 ? '' : `, ${missing.length} of ${runs.length} runs are missing`
    return {
      name,
      status: 'inconclusive',
      detail: `not all checkpoints were evaluated again${which}: ${problem ?? whyMissing(runs, missing, [...numbers.keys()])}`,
    }
  }
  const reported = runs.flatMap((run) =>
    gates.flatMap((gate) => lastNumbersOf(gate, run)).filter((metric) => run.metrics[metric] !== undefined),
  )
  const metrics = [...new Set(reported)].join(', ')
  return {
    name,
    status: 'passed',
    detail: `one process evaluated ${runs.length} checkpoints again and found ${metrics} as the trainings reported${largestDifferenceText(runs, numbers, gates)}`,
  }
}

/** A tolerance of a tenth of what a limit allows may be large compared with a small number. */
function largestDifferenceText(
  runs: readonly RunSummary[],
  numbers: Reevaluation['numbers'],
  gates: readonly Gate[],
): string {
  const shares = runs.flatMap((run) =>
    [...new Set(gates.flatMap((gate) => lastNumbersOf(gate, run)))].flatMap((metric) => {
      const [reported, found] = [run.metrics[metric], numbers.get(run.runId)?.[metric]]
      if (reported === undefined || found === undefined || reported === found) return []
      return [Math.abs(found - reported) / Math.abs(reported)]
    }),
  )
  const largest = Math.max(0, ...shares.filter(Number.isFinite))
  return largest > ROUNDING ? `, to within ${percent(largest)}` : ''
}

/** Of a process that ended well: `named` is what its lines name. */
function whyMissing(
  runs: readonly RunSummary[],
  missing: readonly RunSummary[],
  named: readonly string[],
): string {
  if (named.length === 0) return 'evaluation/evaluations.jsonl has no readable line'
  const foreign = named.filter((name) => runs.every(({ runId }) => runId !== name))
  const [first] = missing
  if (foreign.length === 0 || first === undefined) return 'the process left them out'
  const found = listed(
    foreign.map((name) => JSON.stringify(name)),
    2,
  )
  return `run: got ${found}, expected each folder as --run gave it, such as ".../${first.runId}/trainer"`
}

/** A gate's metric that a run did not report is the gate's own affair; one that does not come again is ours. */
function disagreementsOf(run: RunSummary, again: RunSummary['metrics'], gates: readonly Gate[]): string[] {
  const { runId } = run
  const disagreements = [...new Set(gates.flatMap((gate) => lastNumbersOf(gate, run)))].flatMap((metric) => {
    const [reported, found] = [run.metrics[metric], again[metric]]
    if (reported === undefined) return []
    if (found === undefined) return [`${runId}: the evaluation did not report ${metric} again`]
    const tolerances = gates
      .filter((gate) => lastNumbersOf(gate, run).includes(metric))
      .map((gate) =>
        gate.metric === metric ? toleranceOf(gate, reported) : SHARE_OF_LEVEL * Math.abs(reported),
      )
    const tolerance = Math.min(...tolerances)
    return Math.abs(found - reported) <= tolerance
      ? []
      : [
          `${runId}: the training reported ${metric} ${number(reported, 5)}, but the evaluation found ${number(found, 5)} (tolerance ${number(tolerance, 2)})`,
        ]
  })
  // A part that a training keeps to itself could be as bad as it likes. Without a time there is nothing to flatter.
  const unreported = gates.some(
    ({ metric }) => metric === TIME_TO_EACH_QUALITY && run.metrics[metric] !== undefined,
  )
    ? Object.keys(again).filter((metric) => isLossOfPart(metric) && run.metrics[metric] === undefined)
    : []
  return [
    ...disagreements,
    ...unreported.map((metric) => `${runId}: the training did not report ${metric}, but the evaluation did`),
  ]
}

/** In the unit of the metric. */
export function toleranceOf(gate: Gate, reported: number): number {
  const size = Math.abs(reported)
  return Math.max(ROUNDING * size, toleranceOfLimit(gate, size))
}

function toleranceOfLimit(gate: Gate, size: number): number {
  if (isLevel(gate)) return SHARE_OF_LEVEL * gate.limit * unitOf(gate)
  return gate.statistic === 'difference'
    ? SHARE_OF_LIMIT * Math.abs(gate.limit) * unitOf(gate)
    : SHARE_OF_LIMIT * Math.abs(gate.limit - 1) * size
}
