// How often sound experiments get a warning or no verdict, and how often a real fault is seen.
import { compare } from '../../src/judge/compare.ts'
import { judgeGate } from '../../src/judge/gates/gate-verdict.ts'
import { correlatedBlockWarnings } from '../../src/judge/warnings/evidence/correlated-blocks.ts'
import { outlierWarnings } from '../../src/judge/warnings/outliers.ts'
import type { RunSummary } from '../../src/measure/summary.ts'
import { type Random, seededRandom } from '../../src/statistics/random.ts'
import { aRunSummary } from '../../tests/fixtures/builders.ts'
import { normal } from '../../tests/fixtures/noise.ts'
import {
  AS_RECORDED,
  type BlockNoise,
  correlatedBlocks,
  independent,
  LOOKS,
  SPEEDUP,
} from '../../tests/judge/calibration/experiments.ts'
import { aboveFloor, onOneDay } from '../../tests/judge/calibration/floors.ts'
import { SERIES, steadyStates } from '../../tests/judge/calibration/step-series.ts'

const EXPERIMENTS = 1000
const SERIES_EXPERIMENTS = 200
const RUNS = 8
const percent = (share: number) => `${(100 * share).toFixed(1)}%`
const shareOf = (holds: () => boolean) =>
  Array.from({ length: EXPERIMENTS }, holds).filter(Boolean).length / EXPERIMENTS

export async function alarms(): Promise<string[][]> {
  return [...outliers(), ...floors(), ...alikeBlocks(), ...(await series())]
}

function outliers(): string[][] {
  const random = seededRandom(3)
  return [6, 8, 16].map((runs) => {
    const warned = shareOf(() => outlierWarnings({ measured: scattered(runs, random) }).length > 0)
    return [`outliers or two groups: ${runs} blocks that scatter by 2%`, percent(warned), '0.0%']
  })
}

function scattered(runs: number, random: Random): RunSummary[] {
  return Array.from({ length: runs }, (_, index) =>
    (['baseline', 'optimized'] as const).map((variant) =>
      aRunSummary({
        ...{ variant, block: index + 1 },
        metrics: { seconds_per_sample: Math.exp(0.02 * normal(random)) },
      }),
    ),
  ).flat()
}

function floors(): string[][] {
  const random = seededRandom(8)
  const day = (ofBoth: boolean) =>
    shareOf(() => aboveFloor({ before: onOneDay(random), now: onOneDay(random), ofBoth }, LOOKS, random))
  return [
    ['noise floor of the baseline: scatter differs by day', percent(day(false)), '0.0%'],
    ['noise floor of both: scatter differs by day', percent(day(true)), '0.0%'],
  ]
}

function alikeBlocks(): string[][] {
  const kinds: readonly (readonly [string, BlockNoise])[] = [
    ['independent', independent(0.02)],
    ['eager baseline as recorded', AS_RECORDED],
    ['correlated by 0.5', correlatedBlocks(0.5)],
    ['correlated by 0.8', correlatedBlocks(0.8)],
  ]
  return kinds.map(([name, noise]) => {
    const random = seededRandom(5)
    const told = shareOf(() => hasAlikeBlocks(noise(random, RUNS)))
    return [`alike blocks: ${name}, ${RUNS} blocks`, percent(told), '0.0%']
  })
}

function hasAlikeBlocks(values: readonly number[]): boolean {
  const runs = values.flatMap((value, index) => [
    aRunSummary({ block: index + 1, metrics: { seconds_per_sample: Math.exp(value) } }),
    aRunSummary({
      ...{ block: index + 1, variant: 'optimized' },
      metrics: { seconds_per_sample: 0.2 * (1 + 1e-9 * index) },
    }),
  ])
  const gates = compare(runs, [SPEEDUP]).gates.map((gate) => judgeGate(gate))
  return correlatedBlockWarnings({ gates }).length > 0
}

async function series(): Promise<string[][]> {
  const found = Object.entries(SERIES).map(async ([name, one]) => {
    const { warned = 0, failed = 0 } = await steadyStates(one, SERIES_EXPERIMENTS)
    return [`steady state: ${name}`, percent(warned), percent(failed)]
  })
  return Promise.all(found)
}
