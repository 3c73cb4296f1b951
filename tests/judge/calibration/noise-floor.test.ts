// A/A and noise floor by simulation: how often noise alone makes a measurement invalid, and how much more noise is noticed.
import { describe, expect, test } from 'vitest'
import { checkAa, findAa } from '../../../src/judge/checks/aa.ts'
import { type Random, seededRandom } from '../../../src/statistics/random.ts'
import { LOOKS, margin, NOISE } from './experiments.ts'
import { AA_BLOCKS, aboveFloor, onOneDay, runsOf } from './floors.ts'

const EXPERIMENTS = 1500

const share = (holds: () => boolean) =>
  Array.from({ length: EXPERIMENTS }, holds).filter(Boolean).length / EXPERIMENTS

describe.each(Object.entries(NOISE))('noise %s', (name, noise) => {
  test('makes at most 1% of A/As invalid', () => {
    const random = seededRandom(5)
    const invalid = share(() => checkAa(findAa(runsOf(AA_BLOCKS, noise, random))).status === 'failed')
    expect(invalid).toBeLessThan(0.01 + margin(0.01, EXPERIMENTS))
  })

  // An A/A of 12 runs misses a slow run in ten every fourth time, and its floor is then too low.
  const most = name === 'with one slow run in ten' ? 0.05 : 0.01
  test(`puts at most ${100 * most}% of experiments above their own floor, over all looks`, () => {
    const random = seededRandom(6)
    expect(share(() => aboveFloor({ before: noise, now: noise }, LOOKS, random))).toBeLessThan(
      most + margin(most, EXPERIMENTS),
    )
  })
})

test('five times the noise is noticed in four of five experiments with 4 blocks, and nearly always with 8', () => {
  const noise = NOISE['log-normal']
  if (!noise) throw new Error('no noise')
  const random = seededRandom(7)
  const machine = { before: noise, now: (of: Random, slot: number) => 5 * noise(of, slot) }
  expect(share(() => aboveFloor(machine, [4], random))).toBeGreaterThan(0.78)
  expect(share(() => aboveFloor(machine, [8], random))).toBeGreaterThan(0.93)
})

test('one experiment in ten is above where the noise of the machine differs by day, which is a warning', () => {
  const random = seededRandom(8)
  const warned = share(() =>
    aboveFloor({ before: onOneDay(random), now: onOneDay(random), ofBoth: false }, LOOKS, random),
  )
  expect(warned).toBeGreaterThan(0.05)
  expect(warned).toBeLessThan(0.2)
})
