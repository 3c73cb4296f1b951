// How coarsely numbers are written.

/** The largest power of ten, and the largest of two, of which all numbers are multiples; infinite where all are 0. */
export interface WrittenIn {
  readonly decimal: number
  readonly binary: number
}

export function writtenInOf(values: readonly number[]): WrittenIn {
  return coarsest(
    values
      .filter((value) => value !== 0)
      .map((value) => ({ decimal: decimalStep(value), binary: binaryStep(value) })),
  )
}

/** Of several series together. */
export function coarsest(all: readonly WrittenIn[]): WrittenIn {
  return all.reduce(
    (least, { decimal, binary }) => ({
      decimal: Math.min(least.decimal, decimal),
      binary: Math.min(least.binary, binary),
    }),
    { decimal: Number.POSITIVE_INFINITY, binary: Number.POSITIVE_INFINITY },
  )
}

/** Of the two, the one in which the numbers are written. */
export function stepOf({ decimal, binary }: WrittenIn): number {
  return Math.max(decimal, binary)
}

/**
 * The largest power of ten or of two of which all numbers are multiples: 0.01 for numbers rounded to two decimals,
 * 2^-11 for numbers about 0.1 in bf16. Infinite where all are 0; null where one is not finite.
 */
export function resolutionOf(values: readonly number[]): number | null {
  return values.every(Number.isFinite) ? stepOf(writtenInOf(values)) : null
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
