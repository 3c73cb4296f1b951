// Sum, mean and median of some numbers.

export function sumOf(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** NaN without any. */
export function meanOf(values: readonly number[]): number {
  return sumOf(values) / values.length
}

/** NaN without any. */
export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2
}
