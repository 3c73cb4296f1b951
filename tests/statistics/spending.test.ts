// Levels of several looks: together they err as often as they say, by simulation of independent normal numbers.
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../src/statistics/random.ts'
import { shares, spendingLevels } from '../../src/statistics/spending.ts'
import { studentTQuantile } from '../../src/statistics/student-t.ts'
import { normal } from '../fixtures/noise.ts'

const TRIALS = 40_000

function crossed(counts: readonly number[], levels: readonly number[]): number {
  const random = seededRandom(31)
  const critical = counts.map((count, look) => studentTQuantile(1 - (levels[look] ?? 0), count - 1))
  let crossings = 0
  for (let trial = 0; trial < TRIALS; trial += 1) {
    let [sum, squares, n] = [0, 0, 0]
    const isCrossed = counts.some((count, look) => {
      for (; n < count; n += 1) {
        const value = normal(random)
        sum += value
        squares += value ** 2
      }
      const variance = (squares - sum ** 2 / n) / (n - 1)
      return sum / n > (critical[look] ?? 0) * Math.sqrt(variance / n)
    })
    if (isCrossed) crossings += 1
  }
  return crossings / TRIALS
}

describe.each([[[2, 4, 6, 8]], [[4, 6]], [[2, 8, 12, 16]], [[3, 4, 5, 6, 7, 8]]])(
  'looks after %j',
  (counts) => {
    test('cross by luck in as many cases as allowed', () => {
      const found = crossed(counts, spendingLevels(counts, 0.05))
      expect(Math.abs(found - 0.05)).toBeLessThan(3 * Math.sqrt((0.05 * 0.95) / TRIALS))
    })
  },
)

test('a single look has all of it', () => {
  for (const count of [2, 3, 8, 40]) expect(spendingLevels([count], 0.05)[0]).toBeCloseTo(0.05, 3)
})

test('shares add up, and later looks have more', () => {
  const found = shares([4, 6, 8], 0.05)
  expect(found.reduce((sum, share) => sum + share, 0)).toBeCloseTo(0.05, 12)
  expect(found).toEqual(found.toSorted((one, other) => one - other))
})
