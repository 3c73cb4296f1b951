// One gate as a picture: its interval against its limit, each block a point, in lines that a browser draws without a script.
import type { Gate } from '../../../config/gates/gates.ts'
import { isLevel, isMoreBetter, unitOf } from '../../../judge/gates/gate-kind.ts'
import type { JudgedGate } from '../../../judge/gates/judge-gates.ts'
import { rounded } from '../../../text/numbers.ts'
import { comparisonTexts, levelText, limitText } from '../../gates/gate-numbers.ts'
import { type Html, html, NOTHING } from '../html.ts'

export interface GatePoint {
  /** Such as "block 3". */
  readonly name: string
  readonly value: number
}

/** In units of the drawing, which a browser scales. */
const WIDTH = 640
const HEIGHT = 70
const [LEFT, RIGHT] = [24, WIDTH - 24]
const [INTERVAL_Y, POINTS_Y, AXIS_Y] = [16, 32, 44]
const MARGIN = 0.08

/** Nothing without a number to draw. */
export function gatePlot({ gate, evidence, status }: JudgedGate, points: readonly GatePoint[]): Html {
  if (evidence === null) return NOTHING
  const limit = gate.limit * unitOf(gate)
  const bounds = isLevel(gate) ? null : evidence.bounds
  const scale = scaleOf([
    limit,
    evidence.estimate,
    ...(bounds === null ? [] : [bounds.lower, bounds.upper]),
    ...points.map(({ value }) => value),
  ])
  if (scale === null) return NOTHING
  const x = (value: number) => rounded(scale(value), 4)
  const [from, to] = isMoreBetter(gate) ? [x(limit), RIGHT] : [LEFT, x(limit)]
  return html`<svg class="gate ${status}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${gate.name}: its interval against its limit. The table has the numbers.">
<rect class="good" x="${from}" y="4" width="${rounded(Math.max(0, to - from), 4)}" height="${AXIS_Y - 4}"><title>the side of the limit that passes</title></rect>
<line class="axis" x1="${LEFT}" x2="${RIGHT}" y1="${AXIS_Y}" y2="${AXIS_Y}"/>
${bounds === null ? NOTHING : interval(x(bounds.lower), x(bounds.upper), boundsText(gate, { ...evidence, bounds }))}
${points.map(({ name, value }) => html`<circle class="block" cx="${x(value)}" cy="${POINTS_Y}" r="4"><title>${name}: ${valueText(gate, value)}</title></circle>`)}
<circle class="estimate" cx="${x(evidence.estimate)}" cy="${INTERVAL_Y}" r="5"><title>estimate: ${valueText(gate, evidence.estimate)}</title></circle>
<line class="limit" x1="${x(limit)}" x2="${x(limit)}" y1="2" y2="${AXIS_Y + 4}"><title>limit: ${limitText(gate)}</title></line>
<text class="limit" x="${x(limit)}" y="${HEIGHT - 4}" text-anchor="${anchorAt(x(limit))}">limit ${limitText(gate)}</text>
${estimateLabel(x(evidence.estimate), x(limit), valueText(gate, evidence.estimate))}
</svg>`
}

function interval(from: number, to: number, text: string): Html {
  return html`<g class="interval"><title>${text}</title><line x1="${from}" x2="${to}" y1="${INTERVAL_Y}" y2="${INTERVAL_Y}"/><line x1="${from}" x2="${from}" y1="${INTERVAL_Y - 6}" y2="${INTERVAL_Y + 6}"/><line x1="${to}" x2="${to}" y1="${INTERVAL_Y - 6}" y2="${INTERVAL_Y + 6}"/></g>`
}

/** Only where it does not run into the limit's. */
function estimateLabel(at: number, limit: number, text: string): Html {
  if (Math.abs(at - limit) < WIDTH / 4) return NOTHING
  return html`<text x="${at}" y="${HEIGHT - 4}" text-anchor="${anchorAt(at)}">${text}</text>`
}

function anchorAt(x: number): 'start' | 'middle' | 'end' {
  if (x < WIDTH / 6) return 'start'
  return x > (WIDTH * 5) / 6 ? 'end' : 'middle'
}

/** Null where the values have no place on one axis. */
function scaleOf(values: readonly number[]): ((value: number) => number) | null {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const range = most - least || Math.abs(most) || 1
  if (!Number.isFinite(range)) return null
  const [from, to] = [least - MARGIN * range, most + MARGIN * range]
  return (value) => LEFT + ((value - from) / (to - from)) * (RIGHT - LEFT)
}

function boundsText(gate: Gate, evidence: Parameters<typeof comparisonTexts>[1]): string {
  const { lower, upper } = comparisonTexts(gate, evidence)
  return `confidence bounds: ${lower} to ${upper}`
}

function valueText(gate: Gate, value: number): string {
  return isLevel(gate)
    ? levelText(gate, value)
    : comparisonTexts(gate, { estimate: value, bounds: null }).change
}
