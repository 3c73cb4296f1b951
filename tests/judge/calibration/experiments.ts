// Simulated experiments: blocks in balanced order under a named noise, judged at each look until they are decided.
import type { Gate } from '../../../src/config/gates/gates.ts'
import { type GateStatus, judgeGate } from '../../../src/judge/gates/gate-verdict.ts'
import { type PairedEstimate, pairedRatio } from '../../../src/judge/paired.ts'
import { aGate } from '../../fixtures/builders.ts'
import { normal } from '../../fixtures/noise.ts'
import type { Random } from '../../fixtures/random.ts'

export const LIMIT = 3
export const LOOKS = [4, 6, 8]
export const CONFIDENCE = 1 - 0.05 / LOOKS.length

/** Logarithm of what a run takes longer than it should; `slot` is its place in the order of the runs. */
export type Noise = (random: Random, slot: number) => number

export const NOISE: Readonly<Record<string, Noise>> = {
  'log-normal': (random) => 0.02 * normal(random),
  'log-normal with a drift of 1% a run': (random, slot) => 0.003 * normal(random) + 0.01 * slot,
  'with one slow run in ten': (random) => 0.005 * normal(random) + (random() < 0.1 ? 0.2 : 0),
  'with two modes': (random) => 0.002 * normal(random) + (random() < 0.5 ? 0.02 : 0),
}

export interface Pair {
  readonly numerator: number
  readonly denominator: number
}

export function blocksOf(count: number, trueRatio: number, noise: Noise, random: Random): Pair[] {
  return Array.from({ length: count }, (_, block) => {
    const [first, second] = [noise(random, 2 * block), noise(random, 2 * block + 1)]
    const [baseline, optimized] = block % 2 === 0 ? [first, second] : [second, first]
    return { numerator: trueRatio * Math.exp(baseline), denominator: Math.exp(optimized) }
  })
}

export interface Decision {
  readonly status: GateStatus
  readonly blocks: number
}

/** Stops at the first look that decides, as an experiment does. */
export function decide(pairs: readonly Pair[], looks = LOOKS, confidence = CONFIDENCE): Decision {
  const gate = aGate({ limit: LIMIT })
  return decideAt(looks, gate, (blocks) => pairedRatio(pairs.slice(0, blocks), confidence))
}

export function decideAt(
  looks: readonly number[],
  gate: Gate,
  evidenceAfter: (blocks: number) => PairedEstimate | null,
): Decision {
  let decision: Decision = { status: 'inconclusive', blocks: 0 }
  for (const blocks of looks) {
    const evidence = evidenceAfter(blocks)
    const { status } = judgeGate({
      gate,
      baseline: null,
      optimized: null,
      evidence,
      blocks,
      repeating: [],
      seedless: [],
      roundedTo: null,
      writtenInSteps: null,
      heldOut: [],
      notFinite: [],
      whyNoTimeToQuality: null,
    })
    decision = { status, blocks }
    if (status !== 'inconclusive') return decision
  }
  return decision
}

/** Three standard errors of a share over this many trials. */
export function margin(share: number, trials: number): number {
  return 3 * Math.sqrt((share * (1 - share)) / trials)
}
