// One gate -> the cells of its table row and the line that says what its numbers mean.
import type { Gate } from '../config/gates.ts'
import type { GateVerdict } from '../judge/gate-verdict.ts'
import { bytes, cautious, number, percent, ratio, seconds, signed } from './format.ts'

export const TABLE_HEAD = ['gate', 'baseline', 'optimized', 'change', 'bound', 'limit', 'verdict'] as const

const NOT_MEASURED = 'not measured'

export function gateCells(verdict: GateVerdict): string[] {
  const { gate, baseline, optimized, evidence } = verdict
  return [
    gate.name,
    baseline === null ? NOT_MEASURED : level(gate, baseline),
    optimized === null ? NOT_MEASURED : level(gate, optimized),
    evidence === null || gate.statistic === 'maximum' ? '' : change(gate, evidence.estimate),
    bound(verdict),
    `${SYMBOL[gate.direction]} ${limit(gate)}`,
    stateText(verdict),
  ]
}

/** Plain words, so that the table can be read without the documentation. */
export function gateMeaning({ gate, state, evidence, reason, insensitive }: GateVerdict): string {
  const pairs =
    evidence === null ? '' : ` over ${evidence.pairs} ${evidence.pairs === 1 ? 'block' : 'blocks'}`
  const note =
    insensitive && state === 'passed' ? ' The limit is over 10% of the baseline level: insensitive.' : ''
  return `${STATISTIC_MEANING[gate.statistic](metricMeaning(gate.metric))}${pairs}. ${capital(reason)}.${note}`
}

const SYMBOL = { at_least: '>=', at_most: '<=', below: '<' } as const

const STATISTIC_MEANING: Readonly<Record<Gate['statistic'], (metric: string) => string>> = {
  speedup: (metric) => `baseline / optimized ${metric}, mean of the paired ratios`,
  ratio: (metric) => `optimized / baseline ${metric}, mean of the paired ratios`,
  difference: (metric) => `optimized - baseline ${metric}, mean of the paired differences`,
  maximum: (metric) => `${metric}, the largest of all ranks and runs`,
  minimum: (metric) => `${metric}, the smallest of all runs`,
}

function metricMeaning(metric: string): string {
  const known: Readonly<Record<string, string>> = {
    seconds_per_sample: 'seconds per sample in the steady state',
    total_seconds: 'seconds from process start to the last evaluation, set-up included',
    val_loss: 'held-out loss at the end of training',
    'evaluation.nrmse': 'held-out NRMSE at the end of training',
    peak_memory_reserved_bytes: 'peak GPU memory reserved by the allocator',
    peak_memory_allocated_bytes: 'peak GPU memory allocated',
  }
  return known[metric] ?? metric
}

function level({ metric }: Gate, value: number): string {
  if (metric === 'seconds_per_sample') return `${seconds(value)}/sample`
  if (metric === 'total_seconds') return seconds(value)
  return metric.endsWith('_bytes') ? bytes(value) : number(value)
}

function change({ metric, statistic }: Gate, estimate: number): string {
  if (statistic !== 'difference') return ratio(estimate)
  return metric.endsWith('_bytes') ? `${signed(estimate / 1e9)} GB` : signed(estimate)
}

/** The one-sided bound that has to clear the limit. */
function bound({ gate, evidence }: GateVerdict): string {
  if (evidence === null || gate.statistic === 'maximum') return ''
  if (evidence.bounds === null) return 'none'
  const upward = gate.direction === 'at_least'
  const value = upward ? cautious(evidence.bounds.lower, 'down') : cautious(evidence.bounds.upper, 'up')
  return `${upward ? '>=' : '<='} ${change(gate, value)} (${percent(evidence.confidence)})`
}

function limit({ metric, statistic, limit }: Gate): string {
  if (statistic === 'speedup' || statistic === 'ratio') return ratio(limit)
  return metric.endsWith('_bytes') ? `${number(limit, 3)} GB` : number(limit, 3)
}

function stateText({ gate, state }: GateVerdict): string {
  return gate.severity === 'required' ? state : `${state} (${gate.severity})`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
