// The rungs of a ladder as a picture: the predicted range and the measured gain of each, on one logarithmic axis.
import { type Html, html, NOTHING } from '../../report/html/html.ts'
import { ratio, rounded } from '../../text/numbers.ts'
import { shortened } from '../../text/wording.ts'
import type { RungVerdict } from '../judge.ts'
import type { Effect } from '../noise.ts'
import type { PredictedRange } from './predicted.ts'

export interface PlottedRung {
  readonly name: string
  readonly predicted: PredictedRange | null
  readonly gain: Effect | null
  readonly verdict: RungVerdict
  /** In words. */
  readonly why: string
}

/** In units of the drawing. */
const WIDTH = 720
const [LEFT, RIGHT] = [236, WIDTH - 110]
const ROW_HEIGHT = 30
const HEAD_HEIGHT = 28

export function rungsPlot(title: string, rungs: readonly PlottedRung[]): Html {
  const values = rungs.flatMap(({ predicted, gain }) => [
    ...(predicted === null ? [] : [predicted.low, predicted.high]),
    ...(gain === null ? [] : [gain.bounds?.lower ?? gain.ratio, gain.bounds?.upper ?? gain.ratio]),
  ])
  const logs = [1, ...values].map(Math.log).filter(Number.isFinite)
  const [least, most] = [Math.min(...logs), Math.max(...logs)]
  if (rungs.length === 0) return NOTHING
  // A ladder without any change needs an axis of some width too.
  const range = most - least || 0.1
  const x = (factor: number) => rounded(LEFT + ((Math.log(factor) - least) / range) * (RIGHT - LEFT), 5)
  const height = HEAD_HEIGHT + rungs.length * ROW_HEIGHT
  return html`<figure><figcaption><b>${title}</b></figcaption>
<svg class="rungs" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}: predicted and measured gain. The tables below have the numbers.">
<line class="one" x1="${x(1)}" x2="${x(1)}" y1="${HEAD_HEIGHT}" y2="${height}"/>
${labels(Math.exp(least), Math.exp(most), x)}
${rungs.map((rung, index) => rungRow(rung, HEAD_HEIGHT + (index + 0.5) * ROW_HEIGHT, x))}
</svg></figure>`
}

function labels(least: number, most: number, x: (factor: number) => number): Html {
  const ends = [least, most].filter((end) => Math.abs(x(end) - x(1)) > 60)
  return html`${[1, ...ends].map((factor) => html`<text x="${x(factor)}" y="18" text-anchor="middle">${ratio(factor)}</text>`)}`
}

function rungRow(
  { name, predicted, gain, verdict, why }: PlottedRung,
  y: number,
  x: (factor: number) => number,
): Html {
  return html`<g class="${verdict}"><text x="0" y="${y + 4}">${shortened(name, MOST_NAME)}<title>${name}</title></text>
${predicted === null ? NOTHING : predictedBar(predicted, y - 5, x)}
${gain === null ? NOTHING : gainBar(gain, y + 4, x)}
<text x="${WIDTH}" y="${y + 4}" text-anchor="end">${shortened(gain === null ? why : ratio(gain.ratio), MOST_NAME)}</text></g>`
}

const MOST_NAME = 26

function predictedBar({ low, high }: PredictedRange, y: number, x: (factor: number) => number): Html {
  const text = low === high ? ratio(low) : `${ratio(low)} to ${ratio(high)}`
  return html`<g class="predicted"><title>predicted: ${text}</title><line class="predicted" x1="${x(low)}" x2="${x(high)}" y1="${y}" y2="${y}"/><circle class="predicted" cx="${x(low)}" cy="${y}" r="3"/><circle class="predicted" cx="${x(high)}" cy="${y}" r="3"/></g>`
}

function gainBar({ ratio: factor, bounds }: Effect, y: number, x: (factor: number) => number): Html {
  const text = bounds === null ? 'no interval' : `${ratio(bounds.lower)} to ${ratio(bounds.upper)}`
  const bar =
    bounds === null
      ? NOTHING
      : html`<line x1="${x(bounds.lower)}" x2="${x(bounds.upper)}" y1="${y}" y2="${y}"/>`
  return html`<g class="interval"><title>measured: ${ratio(factor)}, ${text}</title>${bar}<circle class="estimate" cx="${x(factor)}" cy="${y}" r="4"/></g>`
}
