// metrics.csv of Lightning counts steps from 0, and leaves the cells of what was not logged empty.
import { expect, test } from 'vitest'
import { problemAs, readAs } from '../../fixtures/sources.ts'

const SECTION = { format: 'lightning-csv', samples_per_step: 32 }
const LINES = [
  'epoch,step,train_loss,val_accuracy,val_loss',
  '0,9,1.5,,',
  '0,19,1.25,,',
  '0,19,,0.5,1.125',
  '1,29,1,,',
  '1,39,,0.75,0.875',
]

test('its evaluations come after one step more than it says', async () => {
  const section = { ...SECTION, evaluation: { accuracy: 'val_accuracy' } }
  const { problem, evaluations, facts, end, steps } = await readAs(section, LINES)
  expect(problem).toBeNull()
  expect(evaluations).toMatchObject([
    { step: 20, samples_seen: 640, val_loss: 1.125, metrics: { accuracy: 0.5 } },
    { step: 40, samples_seen: 1280, val_loss: 0.875, metrics: { accuracy: 0.75 } },
  ])
  expect(facts).toMatchObject({ step_seconds: 'unknown', samples: 'declared', held_out_loss: 'read' })
  expect([end?.attempted_updates, steps.seconds.length]).toEqual([40, 0])
})

test('a column of its own may have the seconds of each step', async () => {
  const section = { ...SECTION, keys: { step_seconds: 'time' } }
  const lines = ['step,time,val_loss', '0,0.5,', '1,0.25,', '1,,2.5', '2,0.25,']
  const { problem, steps, evaluations, facts } = await readAs(section, lines)
  expect([problem, facts.step_seconds]).toEqual([null, 'read'])
  expect(steps.seconds).toEqual([0.5, 0.25, 0.25])
  expect(steps.held).toEqual([{ index: 2, what: 'evaluation' }])
  expect(evaluations).toMatchObject([{ step: 2, samples_seen: 64 }])
})

test('cells may be quoted, and lines may end with CRLF', async () => {
  const lines = ['step,"val,loss",note', '0,"1.5","a ""b"", c"', '1,1.25,'].map((line) => `${line}\r`)
  const { evaluations, problem } = await readAs({ ...SECTION, keys: { val_loss: 'val,loss' } }, lines)
  expect([problem, evaluations.map(({ val_loss }) => val_loss)]).toEqual([null, [1.5, 1.25]])
})

test('what is wrong is told', async () => {
  expect(await problemAs(SECTION, ['epoch,step,loss', '0,9,1'])).toMatch(
    /^malformed: metrics\.csv line 1: has no column val_loss, only epoch, step, loss/,
  )
  expect(await problemAs(SECTION, [...LINES, '2,49'])).toMatch(
    /^truncated: metrics\.csv line 7: has 2 cells, expected 5/,
  )
  expect(await problemAs(SECTION, [...LINES, '2,59,,0.5,nan'])).toMatch(
    /^not-finite: metrics\.csv line 7: val_loss.*"nan".*diverged/,
  )
  expect(await problemAs(SECTION, [...LINES, '0,9,,0.5,1'])).toMatch(/^out-of-order: metrics\.csv line 7/)
  expect(await problemAs(SECTION, [])).toMatch(/^empty: metrics\.csv/)
})
