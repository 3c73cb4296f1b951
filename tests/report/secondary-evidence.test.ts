// Where there is no time to the baseline's held-out loss, the report says why.
import { expect, test } from 'vitest'
import { assess } from '../../src/assess.ts'
import { pairedRatio } from '../../src/judge/paired.ts'
import type { Result } from '../../src/record/result.ts'
import { secondaryEvidence } from '../../src/report/secondary-evidence.ts'
import { aRequest, aResult } from '../fixtures/builders.ts'

const result = await aResult()
const PAIRS = [2, 2.1, 1.9].map((numerator) => ({ numerator, denominator: 1 }))
const timeToQuality = (of: Result) =>
  secondaryEvidence(of)
    .find((line) => line.startsWith('Speedups:'))
    ?.split('ends with: ')[1]

test('runs that were evaluated once say nothing of when', () => {
  expect(timeToQuality(result)).toBe(
    'not measured, since 8 of 8 runs were evaluated only at the end. Evaluate during the training too.',
  )
})

test('a run that was evaluated more often may never get there', () => {
  const losses = [{ name: 'val_loss', value: 0.02, limit: 0.01 }]
  const runs = result.runs.map((run) => ({
    ...run,
    noTimeToQuality:
      run.variant === 'baseline' || run.block === 1
        ? {}
        : { time_to_quality_seconds: { kind: 'ends above', losses } as const },
  }))
  const late = runs.find(({ variant, block }) => variant === 'optimized' && block === 2)
  expect(timeToQuality({ ...result, runs })).toBe(
    `not measured, since 3 of 8 runs end with a higher held-out loss than their baseline: ${late?.runId} at val_loss 0.02000 (baseline 0.01000).`,
  )
})

test('what it would be without slow steps stands there as far as it is known', () => {
  const speedup = pairedRatio(PAIRS)
  const fastest = (known: Partial<Result['verdict']['speedups']['atFastestSteps']>) => {
    const atFastestSteps = {
      steady: null,
      total: null,
      gpuHours: null,
      toQuality: null,
      toEachQuality: null,
      ...known,
    }
    const speedups = { ...result.verdict.speedups, atFastestSteps }
    const beside = secondaryEvidence({ ...result, verdict: { ...result.verdict, speedups } })
    return beside.find((line) => line.startsWith('Fastest steps:'))
  }
  const shown = '2.00x (1.83x to 2.18x)'
  const told =
    'Fastest steps: had no step after the warm-up been slower than the fastest tenth of its run, the speedup would be'
  expect(fastest({})).toBeUndefined()
  expect(fastest({ toQuality: speedup })).toBeUndefined()
  expect(fastest({ steady: speedup })).toBe(`${told} ${shown}.`)
  expect(fastest({ steady: speedup, toEachQuality: speedup })).toBe(`${told} ${shown}.`)
  expect(fastest({ steady: speedup, toQuality: speedup })).toBe(
    `${told} ${shown}, and to the held-out loss of the baseline ${shown}.`,
  )
  expect(fastest({ steady: speedup, toQuality: speedup, toEachQuality: speedup })).toBe(
    `${told} ${shown}, and to the held-out loss of the baseline ${shown}, to those of every part ${shown}.`,
  )
})

test('without runs there is nothing to time', () => {
  expect(timeToQuality(assess(aRequest(), []))).toBe('not measured, since no block has two finished runs.')
})

test('where a trainer tells of parts, the time until each is as good stands there too', () => {
  const eachPart = (reach: (block: number) => boolean, parts = { 'evaluation.val_loss/darcy2d': 0.01 }) => {
    const reaches = ({ variant, block }: Result['runs'][number]) =>
      variant === 'baseline' || reach(block ?? 1)
    const runs = result.runs.map((run) => ({
      ...run,
      metrics: {
        ...run.metrics,
        ...parts,
      },
      noTimeToQuality: reaches(run) ? {} : { time_to_each_quality_seconds: { kind: 'no parts' } as const },
    }))
    const speedup = pairedRatio(PAIRS)
    const toEachQuality = runs.every(reaches) ? speedup : null
    const speedups = { ...result.verdict.speedups, toQuality: speedup, toEachQuality }
    const beside = secondaryEvidence({ ...result, runs, verdict: { ...result.verdict, speedups } })
    return beside.find((line) => line.startsWith('Each part:'))
  }
  const told = 'Each part: time to the held-out losses that the baseline ends with, of every part:'
  expect(eachPart(() => true)).toBe(`${told} 2.00x.`)
  expect(eachPart((block) => block === 1)).toBe(
    `${told} not measured, since 3 of 8 runs have a baseline without parts. Report val_loss/<part> in metrics of evaluation.`,
  )
  expect(eachPart(() => true, {} as never)).toBeUndefined()
})
