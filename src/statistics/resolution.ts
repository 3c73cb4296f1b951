// How coarsely numbers are written.

/**
 * The largest power of ten or of two of which all numbers are multiples: 0.01 for numbers rounded to two decimals,
 * 2^-11 for numbers about 0.1 in bf16. Infinite where all are 0; null where one is not finite.
 */
export function resolutionOf(values: readonly number[]): number | null {
  if (!values.every(Number.isFinite)) return null
  const others = values.filter((value) => value !== 0)
  return Math.max(...[decimalStep, binaryStep].map((step) => Math.min(...others.map(step))))
}

function decimalStep(value: number): number {
  const [, decimals = '', exponent = '0'] = /^-?\d+\.?(\d*)(?:e(.*))?$/.exec(String(value)) ?? []
  return 10 ** (Number(exponent) - decimals.length)
}

const LARGEST_POWER = 2 ** 1023

/** Ends, since every finite number is a multiple of the smallest one. */
function binaryStep(value: number): number {
  let step = Math.min(2 ** Math.floor(Math.log2(Math.abs(value))), LARGEST_POWER)
  while (value % step !== 0) step /= 2
  return step
}
