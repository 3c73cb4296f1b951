// An experiment ends where the blocks that are left will hardly decide it.
import { describe, expect, test } from 'vitest'
import type { Gate } from '../../../src/config/gates/gates.ts'
import { looksAfter } from '../../../src/config/looks.ts'
import type { GateStatus } from '../../../src/judge/gates/gate-verdict.ts'
import { chanceOfDecision, isFutile } from '../../../src/judge/looks/chance.ts'
import { pairedRatio } from '../../../src/judge/paired.ts'
import { aGate, anExperiment, aVerdict } from '../../fixtures/builders.ts'

const LATER = looksAfter([2, 4, 6, 8]).filter(({ blocks }) => blocks > 4)

const judged = (speedups: readonly number[], gate: Gate = aGate(), status: GateStatus = 'inconclusive') => ({
  gate,
  status,
  staysOpen: false,
  evidence: pairedRatio(speedups.map((numerator) => ({ numerator, denominator: 1 }))),
})
const AT_LIMIT = judged([2.97, 3.03, 3.04, 2.96])
const NEARLY = judged([3.1, 3.2, 3.05, 3.25])
const PASSED = judged([4, 4.1, 4, 4.1], aGate(), 'passed')

describe('the chance that later looks decide', () => {
  test('is small at the limit, and large where little is missing', () => {
    expect(chanceOfDecision([AT_LIMIT], LATER)).toBeLessThan(0.1)
    expect(chanceOfDecision([NEARLY], LATER)).toBeGreaterThan(0.7)
  })

  test('is that of the gate that holds all others up', () => {
    expect(chanceOfDecision([NEARLY, PASSED, AT_LIMIT], LATER)).toBeLessThan(0.15)
  })

  test('counts a failure of any gate as a decision', () => {
    const failing = judged([2.75, 2.9, 2.7, 2.95])
    expect(chanceOfDecision([AT_LIMIT, failing], LATER)).toBeGreaterThan(0.6)
  })

  test('is that of a failure where a gate stays open', () => {
    expect(chanceOfDecision([NEARLY, { ...NEARLY, staysOpen: true }], LATER)).toBeLessThan(0.05)
  })

  test('is not asked of gates that require nothing', () => {
    expect(chanceOfDecision([judged([2.97, 3.03, 3.04, 2.96], aGate({ severity: 'info' }))], LATER)).toBe(1)
  })

  test('is the same in every call', () => {
    expect(chanceOfDecision([NEARLY], LATER)).toBe(chanceOfDecision([NEARLY], LATER))
  })
})

describe('an experiment', () => {
  const experiment = anExperiment({ design: { blocks: [2, 4, 6, 8] } })
  const withGate = async (one: typeof AT_LIMIT, mayPass = true) => {
    const { verdict } = await aVerdict('passed', 'passed')
    return { ...verdict, mayPass, gates: verdict.gates.slice(0, 1).map((gate) => ({ ...gate, ...one })) }
  }

  test('ends where less than 10% is left, but never after an early look or the last one', async () => {
    expect(isFutile(experiment, await withGate(AT_LIMIT), 4)).toBe(true)
    expect(isFutile(experiment, await withGate(NEARLY), 4)).toBe(false)
    expect(isFutile(experiment, await withGate(AT_LIMIT, false), 2)).toBe(false)
    expect(isFutile(experiment, await withGate(AT_LIMIT), 8)).toBe(false)
  })
})
