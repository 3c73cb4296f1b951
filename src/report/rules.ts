// Where the rule behind a verdict, a check or a gate is written down.
import type { Gate } from '../config/gates/gates.ts'
import { comparesQuality, isLevel } from '../judge/gates/gate-kind.ts'

const PAGE = 'https://github.com/speedproof/speedproof/blob/main/docs/how-we-judge.md'

/** Headings of that page, as GitHub makes anchors of them. */
export const RULES = {
  verdicts: 'the-four-verdicts',
  several: 'several-experiments',
  checks: 'checks',
  speed: 'ratios-and-differences',
  quality: 'held-out-numbers',
  level: 'levels',
  beside: 'beside-the-gates',
} as const

export function ruleLink(text: string, rule: keyof typeof RULES): string {
  return `[${text}](${PAGE}#${RULES[rule]})`
}

export function ruleOf(gate: Gate): keyof typeof RULES {
  if (isLevel(gate)) return 'level'
  return comparesQuality(gate) ? 'quality' : 'speed'
}
