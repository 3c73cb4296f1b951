// What later looks at a t statistic will find, predicted from the first values.
import { meanOf } from './averages.ts'
import { chiSquaredDraws, DRAWS, normalDraws } from './draws.ts'
import { studentTQuantile } from './student-t.ts'

export interface LaterLook {
  readonly count: number
  /** One-sided confidence with which the mean is found above 0, or below it; null where the look does not ask. */
  readonly above: number | null
  readonly below: number | null
}

export interface Chances {
  readonly above: number
  readonly below: number
}

/** Mean and standard deviation that may be behind the values: their posterior with a flat prior, by draws. */
export function plausibleTruths(
  values: readonly number[],
): { readonly mean: number; readonly deviation: number }[] {
  const n = values.length
  const [mean, squares] = momentsOf(values)
  const normals = normalDraws()
  return chiSquaredDraws(n - 1).map((chi, draw) => {
    const deviation = Math.sqrt(squares / chi)
    return { mean: mean + (deviation * (normals[draw]?.[0] ?? 0)) / Math.sqrt(n), deviation }
  })
}

/** Chance that the first of these looks to decide finds the mean above 0, or below it. */
export function predictLooks(values: readonly number[], looks: readonly LaterLook[]): Chances {
  const asked = looks.map(({ count, above, below }) => ({
    count,
    above: above === null ? Number.POSITIVE_INFINITY : studentTQuantile(above, count - 1),
    below: below === null ? Number.POSITIVE_INFINITY : studentTQuantile(below, count - 1),
  }))
  const found = { above: 0, below: 0 }
  const normals = normalDraws()
  for (const [draw, truth] of plausibleTruths(values).entries()) {
    const decided = firstDecision(values, asked, truth, normals[draw] ?? [])
    if (decided !== null) found[decided] += 1 / DRAWS
  }
  return found
}

function firstDecision(
  values: readonly number[],
  looks: readonly { readonly count: number; readonly above: number; readonly below: number }[],
  truth: { readonly mean: number; readonly deviation: number },
  normals: readonly number[],
): keyof Chances | null {
  let n = values.length
  let [mean, squares] = momentsOf(values)
  for (const { count, above, below } of looks) {
    for (; n < count; n += 1) {
      const value = truth.mean + truth.deviation * (normals[n + 1 - values.length] ?? 0)
      const shift = value - mean
      mean += shift / (n + 1)
      squares += shift * (value - mean)
    }
    const t = mean / Math.sqrt(squares / (n - 1) / n)
    if (t >= above) return 'above'
    if (t < -below) return 'below'
  }
  return null
}

/** Mean, and sum of squares around it. */
function momentsOf(values: readonly number[]): [number, number] {
  const mean = meanOf(values)
  return [mean, values.reduce((total, value) => total + (value - mean) ** 2, 0)]
}
