// What a rung's prediction says as a number, where it does: "1.10 to 1.25x (plan)" is a range to draw.

export interface PredictedRange {
  readonly low: number
  readonly high: number
}

const NUMBER = String.raw`\d{1,4}(?:\.\d{1,4})?`
const RANGE = new RegExp(`^(1 / )?(${NUMBER})(?: to (${NUMBER}))?x`)

/** Null where it begins with no factor. "1 / 1.03 to 1.05x" is slower by so much. */
export function predictedRange(text: string | null): PredictedRange | null {
  const found = RANGE.exec(text ?? '')
  if (found === null) return null
  const [, inverse, one = '', other = one] = found
  const ends = [one, other].map((end) => (inverse === undefined ? Number(end) : 1 / Number(end)))
  const [low, high] = [Math.min(...ends), Math.max(...ends)]
  return low > 0 && Number.isFinite(high) ? { low, high } : null
}
