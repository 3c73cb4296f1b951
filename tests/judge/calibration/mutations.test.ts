// 10,000 mutated and random metrics files, each as one run of an experiment that else passes: no crash, no pass without proof.
import { expect, test } from 'vitest'
import { assess } from '../../../src/assess.ts'
import { outcomeOf } from '../../../src/measure/outcome.ts'
import { type Random, seededRandom } from '../../../src/statistics/random.ts'
import {
  aLaunchRecord,
  anExperiment,
  aRequest,
  launchedPlan,
  metricsLines,
  readMetricsLines,
} from '../../fixtures/builders.ts'

const FILES = 10_000
const BLOCKS = 3

const pick = <Value>(random: Random, values: readonly Value[]): Value => {
  const value = values[Math.floor(random() * values.length)]
  if (value === undefined) throw new Error('nothing to pick from')
  return value
}

const NUMBERS = [
  'NaN',
  '-Infinity',
  '1e999',
  '-1',
  '0',
  '1e308',
  '5e-324',
  '0.019',
  '7',
  'null',
  '"3"',
  '[]',
  '{}',
]

/** From harmless to hopeless. */
const MUTATIONS: readonly ((text: string, random: Random) => string)[] = [
  (text) => text,
  (text, random) => text.slice(0, Math.floor(random() * text.length)),
  (text, random) => replaceNth(text, /-?\d+(\.\d+)?/g, random, () => pick(random, NUMBERS)),
  (text, random) => replaceNth(text, /\d/g, random, () => String(Math.floor(random() * 10))),
  (text, random) => replaceNth(text, /"\w+":/g, random, () => '"other":'),
  (text, random) => replaceNth(text, /[{}[\],:"\n]/g, random, () => ''),
  (text, random) => replaceNth(text, /.+\n/g, random, () => ''),
  (text, random) => replaceNth(text, /.+\n/g, random, (line) => line + line),
  (text, random) =>
    text
      .split('\n')
      .sort(() => random() - 0.5)
      .join('\n'),
  (_, random) => String.fromCharCode(...Array.from({ length: 200 }, () => Math.floor(random() * 0x300))),
]

function replaceNth(text: string, what: RegExp, random: Random, by: (match: string) => string): string {
  const chosen = Math.floor(random() * [...text.matchAll(what)].length)
  let index = -1
  return text.replace(what, (match) => {
    index += 1
    return index === chosen ? by(match) : match
  })
}

/** Read from the text alone, by other code than the judge's: after 10 warm-up steps, 16 samples a step. */
function numbersOf(text: string): { secondsPerSample: number; valLoss: number } {
  const events = text.split('\n').flatMap((line) => (line.trim() === '' ? [] : JSON.parse(line)))
  const steps = events.filter(({ event }) => event === 'steps')
  const seconds: number[] = steps.flatMap((window) => window.step_seconds).slice(10)
  const samples: number[] = steps.flatMap((window) => window.samples).slice(10)
  const total = (values: number[]) => values.reduce((sum, value) => sum + value, 0)
  const valLoss = Number(events.findLast(({ event }) => event === 'evaluation').val_loss)
  return { secondsPerSample: total(seconds) / total(samples), valLoss }
}

/** Two equal blocks and one other: mean, and its standard error times t(0.95, 2) of SciPy 1.17.1. */
function bound(usual: number, other: number, side: -1 | 1): number {
  const mean = (2 * usual + other) / 3
  return mean + (side * 2.919985580353726 * (Math.abs(other - usual) / Math.sqrt(3))) / Math.sqrt(3)
}

test('no file crashes the judge, and none passes without proof', async () => {
  const random = seededRandom(99)
  const experiment = anExperiment({ design: { blocks: BLOCKS, warm_up_launches: 0, seed: 0 } })
  const request = aRequest({ experiment })
  const sound = await launchedPlan(experiment)
  const verdicts = { passed: 0, failed: 0, inconclusive: 0, invalid: 0 }
  for (let file = 0; file < FILES; file += 1) {
    const position = Math.floor(random() * sound.length)
    const run = sound[position]?.outcome.run
    if (!run) throw new Error('no such run')
    const stepSeconds = run.variant === 'baseline' ? 0.08 : 0.02
    const start = {
      seed: run.seed,
      world_size: experiment.launch.nproc_per_node,
      config: request.configs[run.variant],
    }
    const text = pick(random, MUTATIONS)(`${metricsLines({ stepSeconds, start }).join('\n')}\n`, random)
    const launch = aLaunchRecord({ runId: run.id })
    const outcome = outcomeOf(run, launch, await readMetricsLines(text.split('\n')))
    const { verdict } = assess(
      request,
      sound.map((launched, index) => (index === position ? { launch, outcome } : launched)),
    )
    verdicts[verdict.verdict] += 1
    if (verdict.verdict !== 'passed') continue
    const { secondsPerSample, valLoss } = numbersOf(text)
    const isBaseline = run.variant === 'baseline'
    const speedup = isBaseline ? secondsPerSample / (0.02 / 16) : 0.08 / 16 / secondsPerSample
    expect(bound(Math.log(4), Math.log(speedup), -1)).toBeGreaterThanOrEqual(Math.log(3) - 1e-9)
    expect(bound(0, isBaseline ? 0.02 - valLoss : valLoss - 0.02, 1)).toBeLessThan(0.001)
  }
  expect(verdicts.passed).toBeGreaterThan(FILES / 10)
  expect(verdicts.failed).toBeGreaterThan(FILES / 4)
  expect(verdicts.inconclusive).toBeGreaterThan(10)
  expect(verdicts.invalid).toBeGreaterThan(10)
})
