// The cases of the calibration: what is true, and how runs scatter.
import type { Gate } from '../../../src/config/gates/gates.ts'
import { aGate } from '../../fixtures/builders.ts'
import {
  AS_RECORDED,
  type BlockNoise,
  correlatedBlocks,
  independent,
  LIMIT,
  NOISE,
  ofRuns,
  SLOW_OPTIMIZED_RUNS,
  SPEEDUP,
} from './experiments.ts'

import { onOneDay } from './floors.ts'

export interface Case {
  readonly name: string
  readonly truth: number
  readonly noise: BlockNoise
  readonly gate?: Gate
}

const nrmse = aGate({ metric: 'evaluation.nrmse', statistic: 'ratio', direction: 'at_most', limit: 1.03 })

/** Cheap ones, dear ones, and one that no design decides. */
export const COSTS: readonly Case[] = [
  { name: '3.29x, runs scatter by 2%', truth: 3.29, noise: independent(0.02) },
  { name: '3.11x, by 5%', truth: 3.11, noise: independent(0.05) },
  { name: '2.94x, by 2%', truth: 2.94, noise: independent(0.02) },
  { name: '2.5x, by 2%', truth: 2.5, noise: independent(0.02) },
  { name: '1.2x, by 2%', truth: 1.2, noise: independent(0.02) },
  { name: 'NRMSE of equal models, by 4%', truth: 1, noise: independent(0.04), gate: nrmse },
  { name: '3.0x, by 2%', truth: LIMIT, noise: independent(0.02) },
]

const ONE_DAY: BlockNoise = (random, blocks) => ofRuns(onOneDay(random))(random, blocks)

/** The limit itself is true, so that each pass and each failure is wrong. */
export const AT_THE_LIMIT: readonly Case[] = [
  ...Object.entries(NOISE).map(([name, noise]) => ({ name, truth: LIMIT, noise: ofRuns(noise) })),
  { name: 'scatter that differs by day', truth: LIMIT, noise: ONE_DAY },
  { name: 'eager baseline as recorded', truth: LIMIT, noise: AS_RECORDED },
  { name: 'blocks correlated by 0.5', truth: LIMIT, noise: correlatedBlocks(0.5) },
  { name: 'blocks correlated by 0.8', truth: LIMIT, noise: correlatedBlocks(0.8) },
  { name: 'one optimized run in ten slow', truth: LIMIT, noise: SLOW_OPTIMIZED_RUNS },
]

export const POWER: readonly Case[] = [3.05, 3.1, 3.2, 3.3].flatMap((truth) =>
  [0.02, 0.03, 0.05].map((scatter) => ({
    name: `${truth}x, by ${100 * scatter}%`,
    truth,
    noise: independent(scatter),
  })),
)

/** Refused after two blocks? */
export const FIRST_LOOK: readonly Case[] = [0.005, 0.01, 0.02, 0.05].map((scatter) => ({
  name: `1.2x, by ${100 * scatter}%`,
  truth: 1.2,
  noise: independent(scatter),
}))

export { SPEEDUP }
