// Where the rule behind a verdict, a check or a gate is written down.
import type { Gate } from '../config/gates/gates.ts'
import { comparesQuality, isLevel } from '../judge/gates/gate-kind.ts'

const DOCS = 'https://github.com/speedproof/speedproof/blob/main/docs'

/** Page and heading, as GitHub makes anchors of them. */
export const RULES = {
  verdicts: 'verdict.md#the-four-verdicts',
  several: 'experiment.md#several-experiments-in-one-call',
  checks: 'verdict.md#checks',
  facts: 'formats.md#where-the-numbers-come-from',
  speed: 'statistics.md#one-number-per-block',
  quality: 'statistics.md#non-inferiority-of-held-out-numbers',
  level: 'verdict.md#gates',
  beside: 'verdict.md#shown-for-information-only',
} as const

export function ruleLink(text: string, rule: keyof typeof RULES): string {
  return `[${text}](${DOCS}/${RULES[rule]})`
}

export function ruleOf(gate: Gate): keyof typeof RULES {
  if (isLevel(gate)) return 'level'
  return comparesQuality(gate) ? 'quality' : 'speed'
}
