// Simulated experiments: noise of a named kind, judged at each look until it decides, as the run loop does.
import type { Gate } from '../../../src/config/gates/gates.ts'
import { type Look, looksAfter } from '../../../src/config/looks.ts'
import { type Played, playLooks } from '../../../src/judge/looks/play.ts'
import { leastDeviation } from '../../../src/judge/noise/least-deviation.ts'
import { NO_FLOORS } from '../../../src/judge/noise/noise.ts'
import { type Random, seededRandom } from '../../../src/statistics/random.ts'
import { aGate } from '../../fixtures/builders.ts'
import { normal } from '../../fixtures/noise.ts'

export const LIMIT = 3
export const LOOKS = [2, 4, 6, 8]
export const SPEEDUP = aGate({ limit: LIMIT })

/** As every experiment was designed until November 2026: each look passes and fails at a third of 5%. */
export const EARLIER: readonly Look[] = [4, 6, 8].map((blocks) => ({
  blocks,
  pass_level: 0.05 / 3,
  fail_level: 0.05 / 3,
}))

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

/** What the blocks of one experiment add to ln(speedup); mean 0. */
export type BlockNoise = (random: Random, blocks: number) => number[]

/** Of each variant; in turn first and second in their block. */
export function ofRuns(noise: Noise): BlockNoise {
  return (random, blocks) =>
    blocksOf(blocks, 1, noise, random).map(({ numerator, denominator }) => Math.log(numerator / denominator))
}

export function independent(scatter: number): BlockNoise {
  return ofRuns((random) => scatter * normal(random))
}

/** Of a baseline run with the one before: over 16 runs, the von Neumann ratio is 1.55. */
const RECORDED_CORRELATION = 0.3

/**
 * As eager baselines were recorded: a state of the host that lasts for minutes slows one baseline run as the next. A
 * compiled variant hardly waits for its host.
 */
export const AS_RECORDED: BlockNoise = (random, blocks) =>
  correlated(blocks, RECORDED_CORRELATION, random).map((value) => 0.02 * value - 0.003 * normal(random))

/** Each block has so much of the one before. */
export function correlatedBlocks(correlation: number): BlockNoise {
  return (random, blocks) => correlated(blocks, correlation, random).map((value) => 0.02 * value)
}

/** One run of the optimized variant in ten takes 20% longer. */
export const SLOW_OPTIMIZED_RUNS: BlockNoise = (random, blocks) =>
  Array.from({ length: blocks }, () => 0.005 * normal(random) - (random() < 0.1 ? 0.2 : 0) + 0.02)

function correlated(count: number, correlation: number, random: Random): number[] {
  let value = normal(random)
  return Array.from({ length: count }, () => {
    const now = value
    value = correlation * value + Math.sqrt(1 - correlation ** 2) * normal(random)
    return now
  })
}

export interface PlayOptions {
  readonly looks?: readonly Look[]
  readonly gate?: Gate
  readonly seed?: number
  readonly stopsWhenFutile?: boolean
}

/** With the stop for futility, unless these are the looks of earlier designs. */
export function play(
  trueSpeedup: number,
  noise: BlockNoise,
  experiments: number,
  {
    looks = looksAfter(LOOKS),
    gate = SPEEDUP,
    seed = 1,
    stopsWhenFutile = looks !== EARLIER,
  }: PlayOptions = {},
): Played[] {
  const random = seededRandom(seed)
  const most = looks.at(-1)?.blocks ?? 0
  const rules = { leastDeviation: leastDeviation(NO_FLOORS), stopsWhenFutile }
  return Array.from({ length: experiments }, () => {
    const values = noise(random, most).map((value) => Math.log(trueSpeedup) + value)
    return playLooks(gate, values, looks, rules)
  })
}

export function shareOf(status: Played['status'], played: readonly Played[]): number {
  return played.filter((one) => one.status === status).length / played.length
}

/** Three standard errors of a share over this many trials. */
export function margin(share: number, trials: number): number {
  return 3 * Math.sqrt((share * (1 - share)) / trials)
}
