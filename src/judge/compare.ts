// Run summaries -> for each gate, both variants' numbers and the paired evidence.
import { VARIANTS, type Variant } from '../config/experiment.ts'
import type { Gate } from '../config/gates/gates.ts'
import type { RunSummary } from '../measure/summary.ts'
import { isHeldOutMetric } from '../metrics/questions.ts'
import { meanOf } from '../statistics/averages.ts'
import { coarsest, resolutionOf, stepOf } from '../statistics/resolution.ts'
import { type Block, differenceOf, pairBlocks, ratioOf, speedupOf, valuesOf } from './blocks.ts'
import { isHeldOutQuality, isLevel, isQuotient, unitOf } from './gates/gate-kind.ts'
import { whyNoTimeToQuality } from './gates/no-time-to-quality.ts'
import { boundRuleBeside, boundRuleOf, LOOK_AT_95, type LookRule } from './looks/look-rule.ts'
import type { BoundRule, PairedEstimate } from './paired.ts'
import { type Speedups, speedupsOf } from './speedups.ts'

export interface GateComparison {
  readonly gate: Gate
  /** Level of each variant over its blocks; null where a run did not report the metric. */
  readonly baseline: number | null
  readonly optimized: number | null
  readonly evidence: PairedEstimate | null
  /** Of which both runs finished. */
  readonly blocks: number
  /** Variants of which several runs gave one and the same number, to the last digit. */
  readonly repeating: readonly Variant[]
  /** Variants whose runs have the same first training losses, so their seeds have no effect. */
  readonly seedless: readonly Variant[]
  /** The step of which all numbers are multiples, where the runs of every block differ by the same, to within it. */
  readonly roundedTo: number | null
  /** The step of which all values of the metric are multiples, over all evaluations of all runs; null where unknown. */
  readonly writtenInSteps: number | null
  /** Held-out numbers that every run reported. */
  readonly heldOut: readonly string[]
  /** Ids of the optimized runs whose number came out as NaN or infinite, where no baseline run's that it is compared with did. */
  readonly notFinite: readonly string[]
  /** Why runs lack the time to quality that the gate is of; null where none does. */
  readonly whyNoTimeToQuality: string | null
  /** What the look may decide. */
  readonly look: Pick<LookRule, 'mayPass' | 'mayFail'>
}

export interface Comparison {
  readonly blocks: readonly Block[]
  readonly gates: readonly GateComparison[]
  readonly speedups: Speedups
  readonly look: LookRule
}

/** `look`: several looks at the data share what may go wrong between them. */
export function compare(runs: readonly RunSummary[], gates: readonly Gate[], look = LOOK_AT_95): Comparison {
  const blocks = pairBlocks(runs)
  const heldOut = heldOutOf(blocks)
  return {
    blocks,
    gates: gates
      .filter((gate) => applies(gate, blocks))
      .map((gate) => ({ ...compareGate(gate, blocks, look), heldOut })),
    speedups: speedupsOf(blocks, boundRuleBeside(look)),
    look,
  }
}

/** Once one baseline run has the metric, no variant gets rid of the gate by not reporting it, nor by a NaN. */
function applies({ metric, ifReported }: Gate, blocks: readonly Block[]): boolean {
  const has = ({ baseline: { metrics, notFinite } }: Block) =>
    metrics[metric] !== undefined || notFinite.includes(metric)
  return !ifReported || blocks.some(has)
}

function heldOutOf(blocks: readonly Block[]): string[] {
  const [first = {}, ...others] = runsOf(blocks).map(({ metrics }) => metrics)
  return Object.keys(first).filter(
    (name) => isHeldOutMetric(name) && others.every((metrics) => metrics[name] !== undefined),
  )
}

function runsOf(blocks: readonly Block[]): RunSummary[] {
  return blocks.flatMap((block) => VARIANTS.map((variant) => block[variant]))
}

function compareGate(gate: Gate, blocks: readonly Block[], look: LookRule): Omit<GateComparison, 'heldOut'> {
  const baseline = valuesOf(gate.metric, blocks, 'baseline')
  const optimized = valuesOf(gate.metric, blocks, 'optimized')
  return {
    gate,
    baseline: baseline && level(gate, baseline),
    optimized: optimized && level(gate, optimized),
    evidence: isLevel(gate)
      ? optimized && worst(gate, optimized)
      : pairedEstimate(gate, blocks, boundRuleOf(gate, look)),
    look,
    blocks: blocks.length,
    notFinite: notFiniteIn(gate, blocks),
    whyNoTimeToQuality: whyNoTimeToQuality(runsOf(blocks), gate.metric),
    repeating: VARIANTS.filter((variant) => repeats({ baseline, optimized }[variant] ?? [])),
    seedless: VARIANTS.filter((variant) => isSeedless(blocks.map((block) => block[variant]))),
    roundedTo: baseline && optimized && coarseStep(gate, baseline, optimized),
    writtenInSteps: writtenInSteps(gate, runsOf(blocks)),
  }
}

function writtenInSteps({ metric }: Gate, runs: readonly RunSummary[]): number | null {
  const step = stepOf(coarsest(runs.flatMap(({ writtenIn }) => writtenIn[metric] ?? [])))
  return Number.isFinite(step) ? step : null
}

/** Of a comparison with what is no number itself nothing is known. */
function notFiniteIn(gate: Gate, blocks: readonly Block[]): string[] {
  const [ofBaseline, ofOptimized] = VARIANTS.map((variant) =>
    blocks.map((block) => block[variant]).filter(({ notFinite }) => notFinite.includes(gate.metric)),
  )
  return isLevel(gate) || ofBaseline?.length === 0 ? (ofOptimized ?? []).map(({ runId }) => runId) : []
}

/** Relative: so much may atomic sums differ in the same training, and no two seeds in three steps. */
const SAME_LOSS = 1e-4

function isSeedless(runs: readonly RunSummary[]): boolean {
  const [first, ...others] = runs.map(({ firstTrainLosses }) => firstTrainLosses)
  if (first === undefined || first.length === 0 || others.length === 0) return false
  return others.every(
    (losses) =>
      losses.length === first.length &&
      losses.every(
        (loss, index) => Math.abs(loss - (first[index] ?? Number.NaN)) <= SAME_LOSS * Math.abs(loss),
      ),
  )
}

/** Relative; float32, in which losses are computed, has 6e-8. */
const FINE = 1e-6

/**
 * Runs that differ by the same with every seed, most often by nothing, may be of one and the same model. Not so where
 * their numbers lack digits, and the limit lies within what those would say.
 */
function coarseStep(gate: Gate, baseline: readonly number[], optimized: readonly number[]): number | null {
  if (!isHeldOutQuality(gate)) return null
  const values = [...baseline, ...optimized]
  const step = resolutionOf(values)
  const differences = baseline.map((value, index) => (optimized[index] ?? Number.NaN) - value)
  const range = Math.max(...differences) - Math.min(...differences)
  const allowed = isQuotient(gate) ? (gate.limit - 1) * meanOf(baseline) : gate.limit * unitOf(gate)
  if (step === null) return null
  const isCoarse = step > FINE * Math.min(...values.map(Math.abs))
  return isCoarse && range < step / 2 && Math.abs(meanOf(differences) - allowed) < step ? step : null
}

function repeats(values: readonly number[]): boolean {
  return values.length > 1 && new Set(values).size === 1
}

function pairedEstimate(
  { metric, statistic }: Gate,
  blocks: readonly Block[],
  rule: BoundRule,
): PairedEstimate | null {
  switch (statistic) {
    case 'speedup':
      return speedupOf(metric, blocks, rule)
    case 'ratio':
      return ratioOf(metric, blocks, rule)
    default:
      return differenceOf(metric, blocks, rule)
  }
}

/** A maximum or minimum over all runs and ranks is what it is: it has no interval and needs none. */
function worst(gate: Gate, values: readonly number[]): PairedEstimate {
  const value = levelOf(gate, values)
  return {
    estimate: value,
    bounds: { lower: value, upper: value },
    pairs: values.length,
    confidence: { lower: 1, upper: 1 },
    values,
    scale: 'linear',
  }
}

/** The level whose quotient, difference or maximum the evidence is; null past what a double holds. */
function level(gate: Gate, values: readonly number[]): number | null {
  const value = levelOf(gate, values)
  return Number.isFinite(value) ? value : null
}

/** Geometric mean for quotients, mean for differences, the worst of levels. */
function levelOf({ statistic }: Gate, values: readonly number[]): number {
  if (statistic === 'maximum') return Math.max(...values)
  if (statistic === 'minimum') return Math.min(...values)
  if (statistic === 'difference' || values.some((value) => value <= 0)) return meanOf(values)
  return Math.exp(meanOf(values.map(Math.log)))
}
