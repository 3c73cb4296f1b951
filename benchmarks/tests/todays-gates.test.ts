// A record is judged by the gates of today too: what it lacks is named, and decides nothing.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aFolder } from '../../tests/fixtures/processes/launching.ts'
import { UNPACKED } from '../archive/layout.ts'
import { byTodaysGates } from '../archive/todays-gates.ts'
import { judgedOtherwise } from '../archive/verdicts.ts'

const RECORD = join(UNPACKED, 'gate/two-task-4gpu-recipe/result.json')

/** Of an experiment file that holds nothing but these. */
async function judgedBy(gates: object) {
  const folder = await aFolder()
  writeFileSync(join(folder, 'two-task-4gpu-recipe.yaml'), JSON.stringify({ gates }))
  return byTodaysGates(RECORD, folder)
}

const SPEED = { time_to_quality_speedup: { at_least: 5 } }
const gap = (metric: string) => ({ metric: `evaluation.${metric}`, statistic: 'maximum', at_most: 1e-9 })

it('a gate that the record was not judged by fails it', async () => {
  expect(await judgedBy({ ...SPEED, mass_gap: gap('mass_gap/advection1d') })).toEqual({
    verdict: 'failed',
    gates: { time_to_quality_speedup: 'passed', mass_gap: 'failed' },
    lacks: [],
    verdictWithoutThose: 'failed',
  })
})

it('a metric that the record lacks leaves it open, and is left out beside that', async () => {
  expect(await judgedBy({ ...SPEED, worst: gap('unheard_of') })).toEqual({
    verdict: 'inconclusive',
    gates: { time_to_quality_speedup: 'passed', worst: 'not measured' },
    lacks: ['evaluation.unheard_of'],
    verdictWithoutThose: 'passed',
  })
  expect(await judgedBy({ worst: gap('unheard_of') })).toMatchObject({ verdictWithoutThose: 'inconclusive' })
})

it('there is no such verdict without an experiment file, or of an A/A', async () => {
  expect(await byTodaysGates(RECORD, await aFolder())).toBeNull()
  expect(await byTodaysGates(join(UNPACKED, 'gate/floor-4gpu/result.json'))).toBeNull()
})

it('a record that is judged otherwise today is named, with what it lacks', () => {
  const today = {
    verdict: 'inconclusive',
    gates: {},
    lacks: ['evaluation.worst'],
    verdictWithoutThose: 'failed',
  }
  const experiments = {
    same: { verdict: 'failed', byTodaysGates: today },
    other: { verdict: 'passed', byTodaysGates: today },
    none: { verdict: 'passed', byTodaysGates: null },
  }
  expect(judgedOtherwise({ experiments, ladders: {} })).toEqual([
    expect.stringMatching(/^other: passed .* failed .* evaluation\.worst/),
  ])
})
