// Normal and chi-squared draws that are the same on every machine and in every call, for predictions by simulation.
import { type Random, seededRandom } from './random.ts'

/** Source: Box and Muller, Annals of Mathematical Statistics 29, 1958. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

/** A chance of 10% is then known to within 2%. */
export const DRAWS = 400

/** As many as the most blocks of an experiment, and one for its mean. */
const NORMALS = 65

const knownChi = new Map<number, readonly number[]>()
let knownNormals: readonly (readonly number[])[] | null = null

/** Of each draw, 65 standard normal numbers. */
export function normalDraws(): readonly (readonly number[])[] {
  knownNormals ??= tableOfNormals()
  return knownNormals
}

function tableOfNormals(): number[][] {
  const random = seededRandom(7)
  return Array.from({ length: DRAWS }, () => Array.from({ length: NORMALS }, () => normal(random)))
}

/** One of each draw. */
export function chiSquaredDraws(df: number): readonly number[] {
  const random = seededRandom(11)
  const found = knownChi.get(df) ?? Array.from({ length: DRAWS }, () => sumOfSquares(random, df))
  knownChi.set(df, found)
  return found
}

function sumOfSquares(random: Random, df: number): number {
  let sum = 0
  for (let index = 0; index < df; index += 1) sum += normal(random) ** 2
  return sum
}
