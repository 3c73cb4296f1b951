// Step times of whole experiments, by what disturbs them, and what the steady-state check says of each.
import { checkComparability } from '../../../src/judge/checks/all.ts'
import { summarizeRuns } from '../../../src/measure/summary.ts'
import { type Random, seededRandom } from '../../../src/statistics/random.ts'
import { aFinishedRun, anExperiment } from '../../fixtures/builders.ts'
import { normal } from '../../fixtures/noise.ts'

const STEPS = 200
const BLOCKS = 4

/** Factor of each step of one run. */
export type Series = (random: Random) => number[]

const steps = (factorOf: (step: number) => number) =>
  Array.from({ length: STEPS }, (_, step) => factorOf(step))

export const SERIES: Readonly<Record<string, Series>> = {
  'independent steps': (random) => steps(() => Math.exp(0.05 * normal(random))),
  /** Noise of 5% of which each step keeps 80% of the step before, and a slow step in fifty. */
  'bursts of a shared machine': (random) => {
    let level = 0
    return steps(() => {
      level = 0.8 * level + 0.03 * normal(random)
      return Math.exp(level + (random() < 0.02 ? 0.5 : 0))
    })
  },
  'heating: 3% slower at the end': (random) =>
    steps((step) => Math.exp(0.02 * normal(random) + 0.03 * (1 - Math.exp(-step / 80)))),
  'a linear trend of 3%': (random) =>
    steps((step) => Math.exp(0.02 * normal(random) + (0.03 * step) / STEPS)),
  'epochs of 50 steps, 5 of them 10 times as long': (random) =>
    steps((step) => Math.exp(0.02 * normal(random)) * (step % 50 < 5 ? 10 : 1)),
  'two modes, changed in one run of three': (random) => {
    const change = random() < 1 / 3 ? Math.floor(STEPS * random()) : STEPS
    return steps((step) => Math.exp(0.02 * normal(random)) * (step < change ? 1 : 1.05))
  },
}

/** Share of experiments by the state of the check. */
export async function steadyStates(
  series: Series,
  experiments: number,
  speedup = 4,
): Promise<Readonly<Record<string, number>>> {
  const random = seededRandom(21)
  const { metrics, ...finished } = await aFinishedRun()
  const experiment = anExperiment()
  const found: Record<string, number> = {}
  for (let one = 0; one < experiments; one += 1) {
    const runs = Array.from({ length: BLOCKS }, (_, index) => index + 1).flatMap((block) =>
      (['baseline', 'optimized'] as const).map((variant) => {
        const pace = variant === 'baseline' ? 0.08 : 0.08 / speedup
        const seconds = series(random).map((factor) => pace * factor)
        const [samples, trainLoss] = [seconds.map(() => 16), seconds.map(() => 1)]
        const id = `block-${block}-${variant}`
        const run = { ...finished.run, id, variant, block, seed: block }
        const ofSteps = { ...metrics.steps, seconds, samples, trainLoss }
        const end = { ...metrics.end, samples: 16 * STEPS, attempted_updates: STEPS }
        return { ...finished, run, metrics: { ...metrics, steps: ofSteps, end } }
      }),
    )
    const check = checkComparability({ experiment, measured: summarizeRuns(runs) }).find(
      ({ name }) => name === 'steady state',
    )
    const status = check?.status ?? 'missing'
    found[status] = (found[status] ?? 0) + 1 / experiments
  }
  return found
}
