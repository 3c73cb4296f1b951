// The evidence beside the gates -> sentences: the speedups, the same-seed losses, the noise of the machine.
import { whyNoTimeToQuality } from '../judge/gates/no-time-to-quality.ts'
import type { PairedEstimate } from '../judge/paired.ts'
import type { BreakEven, Speedups } from '../judge/speedups.ts'
import type { RunSummary } from '../measure/summary.ts'
import { TIME_TO_EACH_QUALITY, TIME_TO_QUALITY } from '../metrics/catalogue.ts'
import { isLossOfPart } from '../metrics/families.ts'
import { isMeasured } from '../plan/plan.ts'
import type { Result } from '../record/result.ts'
import { cautious, number, percent, placesOf, ratio, toPlace } from '../text/numbers.ts'
import { looksTaken } from './looks.ts'

export function secondaryEvidence(result: Result): string[] {
  const { verdict, runs, measuredFloor } = result
  const { steady, total, toQuality, toEachQuality, atOneClock, atFastestSteps, breakEven } = verdict.speedups
  // Two halves of one training have no speedup to win back.
  if (verdict.aa !== null) return [...sameSeed(runs), ...noiseFloor(measuredFloor)]
  return [
    ...looksTaken(result),
    `Speedups: steady state ${estimate(steady)}; process start to end ${estimate(total)}; time to the held-out loss that the baseline ends with: ${timeText(toQuality, runs, TIME_TO_QUALITY)}.`,
    ...(toQuality === null ? [] : toEachQualityText(toEachQuality, runs)),
    ...atFastestStepsText(atFastestSteps),
    ...atOneClockText(atOneClock),
    breakEvenText(breakEven),
    ...sameSeed(runs),
  ]
}

function estimate(found: PairedEstimate | null): string {
  return found === null ? 'not measured' : ratio(found.estimate)
}

/** Nothing where the trainer tells of no part of its held-out pairs. */
function toEachQualityText(found: PairedEstimate | null, runs: readonly RunSummary[]): string[] {
  if (!measuredOf(runs).some(({ metrics }) => Object.keys(metrics).some(isLossOfPart))) return []
  const text = timeText(found, runs, TIME_TO_EACH_QUALITY)
  return [`Each part: time to the held-out losses that the baseline ends with, of every part: ${text}.`]
}

function timeText(found: PairedEstimate | null, runs: readonly RunSummary[], metric: string): string {
  if (found !== null) return ratio(found.estimate)
  const why = whyNoTimeToQuality(measuredOf(runs), metric) ?? 'no block has two finished runs'
  return `not measured, since ${why}`
}

function measuredOf(runs: readonly RunSummary[]): readonly RunSummary[] {
  return runs.filter(isMeasured)
}

function atFastestStepsText({ steady, toQuality, toEachQuality }: Speedups['atFastestSteps']): string[] {
  if (steady === null) return []
  const each = toEachQuality === null ? '' : `, to those of every part ${interval(toEachQuality)}`
  const quality =
    toQuality === null ? '' : `, and to the held-out loss of the baseline ${interval(toQuality)}${each}`
  return [
    `Fastest steps: had no step after the warm-up been slower than the fastest tenth of its run, the speedup would be ${interval(steady)}${quality}.`,
  ]
}

/** Its bounds are written outwards, as those of the gates; none where they are the estimate. */
function interval({ estimate, bounds }: PairedEstimate): string {
  if (bounds === null) return ratio(estimate)
  const places = placesOf(bounds.lower, bounds.upper, 3)
  const lower = toPlace(cautious(bounds.lower, 'down', places), places)
  const upper = toPlace(cautious(bounds.upper, 'up', places), places)
  return lower === upper ? ratio(estimate) : `${ratio(estimate)} (${lower}x to ${upper}x)`
}

/** Nothing where no clock was measured: the section on the machine says so. */
function atOneClockText(found: PairedEstimate | null): string[] {
  return found === null
    ? []
    : [
        `Clocks: in SM clock cycles per sample, so as if every run had gone at one clock, the speedup is ${ratio(found.estimate)}.`,
      ]
}

function breakEvenText(breakEven: BreakEven): string {
  switch (breakEven.status) {
    case 'at-once':
      return 'Set-up: the optimized training takes no longer to set up than the baseline.'
    case 'after':
      return `Set-up: the optimized training takes longer to set up, and makes that up after ${stepsText(breakEven.steps)}.`
    case 'until':
      return `Set-up: the optimized training is set up sooner, and its slower steps use that up after ${stepsText(breakEven.steps)}.`
    case 'never':
      return 'Set-up: the optimized training takes longer to set up, and steps that are no faster never make that up.'
    case 'not-measured':
      return 'Set-up: not measured.'
  }
}

function stepsText(steps: number): string {
  return `${steps} ${steps === 1 ? 'step' : 'steps'}`
}

/** The block that parts first, and the one that parts most. */
function sameSeed(runs: readonly RunSummary[]): string[] {
  const pairs = runs.flatMap((run) => run.sameSeed ?? [])
  const [first] = pairs
  if (!first) return []
  const earliest = pairs.reduce(
    (least, { firstDivergentStep }) => Math.min(least, firstDivergentStep ?? Number.POSITIVE_INFINITY),
    Number.POSITIVE_INFINITY,
  )
  if (earliest === Number.POSITIVE_INFINITY)
    return [
      `Same seed: the training losses of both variants agree to the last bit in all ${first.steps} steps.`,
    ]
  const widest = pairs.reduce((most, pair) => (pair.largestDifference > most.largestDifference ? pair : most))
  const until =
    earliest === 1
      ? `differ from the first of ${first.steps} steps on`
      : `agree to the last bit up to step ${earliest - 1} of ${first.steps}`
  return [
    `Same seed: the training losses of both variants ${until}; the largest difference is ${number(widest.largestDifference, 2)}, in step ${widest.largestAtStep}.`,
  ]
}

function noiseFloor(floor: Result['measuredFloor']): string[] {
  if (floor === null) return []
  const { log_standard_deviation, degrees_of_freedom, runs } = floor
  return [
    `Noise floor: ${runs} runs of this training scatter by ${percent(log_standard_deviation)} on this machine (standard deviation of ln seconds per sample, ${degrees_of_freedom} degrees of freedom).`,
  ]
}
