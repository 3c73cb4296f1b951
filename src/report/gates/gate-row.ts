// One gate -> the cells of its table row and the line that says what its numbers mean.
import type { Gate } from '../../config/gates/gates.ts'
import { comparesQuality, hasUncheckedDirection, isLevel, isMoreBetter } from '../../judge/gates/gate-kind.ts'
import { areBothZero, type GateStatus, type GateVerdict } from '../../judge/gates/gate-verdict.ts'
import type { JudgedGate } from '../../judge/gates/judge-gates.ts'
import type { ToDecide } from '../../judge/gates/precision.ts'
import { failConfidence, passConfidence } from '../../judge/looks/look-rule.ts'
import { metricNamed } from '../../metrics/families.ts'
import { needsText } from '../../metrics/questions.ts'
import { confidence, exactPercent } from '../../text/numbers.ts'
import { statusText } from '../../text/wording.ts'
import { comparisonTexts, digitsBesideLimit, levelText, limitText, sizeText } from './gate-numbers.ts'

/** The head of the table; what the bounds hold with stands there once, not in every row. */
export function tableHead(gates: readonly GateVerdict[]): string[] {
  return ['gate', 'baseline', 'optimized', 'change', boundsHead(gates), 'limit', 'verdict']
}

function boundsHead(gates: readonly GateVerdict[]): string {
  const levels = (of: typeof passConfidence, what: string) => {
    const found = gates.flatMap(({ gate, evidence }) =>
      evidence === null || isLevel(gate) ? [] : [confidence(of(gate, evidence))],
    )
    return { text: [...new Set(found)].join(' or '), what }
  }
  const [pass, fail] = [levels(passConfidence, 'to pass'), levels(failConfidence, 'to fail')]
  if (pass.text === '') return 'bounds'
  const both = [pass, fail].map(({ text, what }) => `${text} ${what}`).join(', ')
  return pass.text === fail.text ? `${pass.text} confidence bounds` : `confidence bounds (${both})`
}

const NOT_MEASURED = 'not measured'

export function gateCells(verdict: GateVerdict): string[] {
  const { gate, baseline, optimized } = verdict
  const digits = optimized === null || !isLevel(gate) ? undefined : digitsBesideLimit(gate, optimized)
  return [
    gate.name,
    baseline === null ? NOT_MEASURED : levelText(gate, baseline, digits),
    optimized === null ? NOT_MEASURED : levelText(gate, optimized, digits),
    ...comparisonCells(verdict),
    `${SYMBOL[gate.direction]} ${limitText(gate, digits)}`,
    verdictCell(verdict),
  ]
}

/** What is asked, before anything has run. */
export function gateQuestion(gate: Gate): string {
  const { name, direction, severity, statistic, metric, evidence, ifReported } = gate
  const needed = needsText(metric)
  const asked = `${name} ${SYMBOL[direction]} ${limitText(gate)} (${severity}): ${STATISTIC_MEANING[statistic](metricMeaning(gate))}`
  const notes = [
    statistic === 'ratio' ? shareAllowed(gate) : null,
    evidence === 'point' && !isLevel(gate) ? 'by its estimate alone' : null,
    needed === null ? null : `needs ${needed}`,
    ifReported ? 'only if a baseline run reports it' : null,
  ]
  return [asked, ...notes.filter((note) => note !== null)].join('; ')
}

/** Who writes 0.03 for 3% sees it here. */
function shareAllowed({ limit, direction }: Gate): string {
  if (limit === 1) return AS_THE_BASELINE[direction]
  const isMargin = direction === 'at_least' ? limit < 1 : limit > 1
  const [most, least] = direction === 'below' ? ['less than', 'more than'] : ['at most', 'at least']
  const share = exactPercent(Math.abs(limit - 1))
  return `${isMargin ? most : least} ${share} ${limit > 1 ? 'above' : 'below'} the baseline`
}

const AS_THE_BASELINE = {
  at_least: 'no lower than the baseline',
  at_most: 'no higher than the baseline',
  below: 'below the baseline',
} as const

/** Plain words, so that the table can be read without the documentation. */
export function gateMeaning(verdict: JudgedGate): string {
  const { gate, status, evidence, reason, insensitive } = verdict
  const pairs =
    evidence === null ? '' : ` over ${evidence.pairs} ${evidence.pairs === 1 ? 'block' : 'blocks'}`
  const note =
    insensitive && status === 'passed' ? ' The limit is over 10% of the baseline level: insensitive.' : ''
  return `${STATISTIC_MEANING[gate.statistic](metricMeaning(gate))}${pairs}. ${capital(reason)}.${note}${precisionText(verdict)}`
}

/** What the experiment could have seen, and what stands beside its bound. */
function precisionText({ gate, precision, evidence, status }: JudgedGate): string {
  if (precision === null)
    return evidence === null || isLevel(gate)
      ? ''
      : ' Minimal detectable effect: unknown without an interval.'
  const { detectable, toDecide, isEquivalent } = precision
  const size = sizeText(gate, detectable)
  return [
    isNoise(gate, detectable)
      ? ''
      : ` Minimal detectable effect: ${size} past the limit, in 80% of experiments.`,
    toDecideText(gate, toDecide),
    isEquivalent === true ? ' Equivalent too: the interval stays within the limit on both sides.' : '',
    isEquivalent === false && status === 'passed' ? ` Not proven equivalent: ${mayBeBetterText(gate)}.` : '',
  ].join('')
}

function mayBeBetterText(gate: Gate): string {
  if (!hasUncheckedDirection(gate)) return 'the optimized model may be better by more than the limit'
  return `${gate.metric} may be ${isMoreBetter(gate) ? 'higher' : 'lower'} by more than the limit`
}

export function toDecideText(gate: Gate, toDecide: ToDecide): string {
  const blocks = comparesQuality(gate) ? 'blocks, each a seed,' : 'blocks'
  switch (toDecide.status) {
    case 'decided':
      return ''
    case 'within-reach':
      return toDecide.most === null
        ? ` At least ${toDecide.blocks} ${blocks} are needed at this scatter.`
        : ` About ${rangeText(toDecide.blocks, toDecide.most)} ${blocks} would decide it at this scatter.`
    case 'out-of-reach':
      return ` More than ${toDecide.blocks} ${blocks} would be needed at this scatter: longer runs scatter less.`
  }
}

function rangeText(fewest: number, most: number): string {
  return fewest === most ? String(fewest) : `${fewest} to ${most}`
}

/** Blocks that are alike but for the last digits of a double. */
function isNoise({ statistic, limit }: Gate, detectable: number): boolean {
  return detectable < 1e-9 * (statistic === 'difference' ? Math.abs(limit) : 1)
}

const SYMBOL = { at_least: '>=', at_most: '<=', below: '<' } as const

const STATISTIC_MEANING: Readonly<Record<Gate['statistic'], (metric: string) => string>> = {
  speedup: (metric) => `baseline / optimized ${metric}, mean of the paired ratios`,
  ratio: (metric) => `optimized / baseline ${metric}, mean of the paired ratios`,
  difference: (metric) => `optimized - baseline ${metric}, mean of the paired differences`,
  maximum: (metric) => `${metric}, the largest of all ranks and optimized runs`,
  minimum: (metric) => `${metric}, the smallest of all optimized runs`,
}

function metricMeaning(gate: Gate): string {
  const { metric, pricePerGpuHour } = gate
  if (hasUncheckedDirection(gate)) return `${metric} (${isMoreBetter(gate) ? 'more' : 'less'} is better)`
  if (pricePerGpuHour !== null)
    return `price of a run from launch to end, at ${pricePerGpuHour} for an hour of a GPU, each process counted as one`
  return metricNamed(metric).meaning
}

/** With both one-sided bounds: one has to clear the limit for a pass, the other to miss it for a failure. */
function comparisonCells(verdict: GateVerdict): [string, string] {
  const { gate, evidence } = verdict
  if (areBothZero(verdict)) return ['both 0', '']
  if (evidence === null || isLevel(gate)) return ['', '']
  const { change, lower, upper } = comparisonTexts(gate, evidence)
  return [change, lower === null ? 'none' : `${lower} to ${upper}`]
}

/** For the eye: whether a gate is proven, missed, open or without a number. */
export const GATE_ICON: Readonly<Record<GateStatus, string>> = {
  passed: '✅',
  failed: '❌',
  inconclusive: '❓',
  'not-measured': '➖',
}

function verdictCell({ gate, status }: GateVerdict): string {
  return gate.severity === 'required' ? statusText(status) : `${NOT_REQUIRED[status]} (${gate.severity})`
}

/** A gate that decides nothing neither passes nor fails. */
const NOT_REQUIRED: Readonly<Record<GateStatus, string>> = {
  passed: 'reached',
  failed: 'not reached',
  inconclusive: 'open',
  'not-measured': NOT_MEASURED,
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
