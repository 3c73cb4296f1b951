// What blocks are taken to scatter at least, where two of them may agree by luck.
import { VARIANTS } from '../../config/experiment.ts'
import { sumOf } from '../../statistics/averages.ts'
import type { Floors } from './noise.ts'

/**
 * Standard deviation of ln(seconds) between runs. Two blocks of a machine with two speeds often have the same ones, so
 * that they seem to scatter by nothing.
 */
const LEAST = 0.005

/** Of ln(speedup) per block: from the stored noise floor of each variant, where it has a higher one. */
export function leastDeviation(floors: Floors): number {
  const variances = VARIANTS.map((variant) => {
    const choice = floors[variant]
    const stored = choice.status === 'found' ? choice.floor.log_standard_deviation : 0
    return Math.max(stored, LEAST) ** 2
  })
  return Math.sqrt(sumOf(variances))
}
