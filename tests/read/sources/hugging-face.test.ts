// trainer_state.json has the held-out losses of a Hugging Face Trainer, unrounded, and no step seconds.
import { expect, test } from 'vitest'
import { problemAs, readAs } from '../../fixtures/sources.ts'

const SECTION = { format: 'hugging-face', samples_per_step: 16, evaluation_samples: 200 }

const HISTORY = [
  { epoch: 0.5, grad_norm: 1.25, learning_rate: 4.5e-5, loss: 0.75, step: 10 },
  {
    epoch: 0.5,
    eval_accuracy: 0.5,
    eval_loss: 0.6875123456789,
    eval_runtime: 1.5,
    eval_samples_per_second: 133.3,
    eval_steps_per_second: 16.7,
    step: 10,
  },
  { epoch: 1, grad_norm: 1, learning_rate: 0, loss: 0.5, step: 20 },
  { epoch: 1, eval_accuracy: 0.75, eval_loss: 0.5625123456789, eval_runtime: 1.25, step: 20 },
  { epoch: 1, step: 20, total_flos: 1e12, train_loss: 0.6, train_runtime: 9, train_steps_per_second: 2.2 },
]
const state = (change: object = {}) =>
  JSON.stringify({ global_step: 20, max_steps: 20, log_history: HISTORY, ...change }, null, 2).split('\n')

test('its evaluations are read with all their digits', async () => {
  const { problem, evaluations, steps, end, start } = await readAs(SECTION, state())
  expect(problem).toBeNull()
  expect(evaluations).toMatchObject([
    { step: 10, samples_seen: 160, val_loss: 0.6875123456789, metrics: { accuracy: 0.5 }, seconds: 1.5 },
    { step: 20, samples_seen: 320, val_loss: 0.5625123456789, metrics: { accuracy: 0.75 }, seconds: 1.25 },
  ])
  expect(Object.keys(evaluations[0]?.metrics ?? {})).toEqual(['accuracy'])
  expect(steps.seconds).toEqual([])
  expect(start).toMatchObject({ evaluation_samples: 200 })
  expect(end).toMatchObject({ attempted_updates: 20, samples: 320 })
})

test('step seconds are unknown, and samples are where nobody declares them', async () => {
  expect((await readAs(SECTION, state())).facts).toMatchObject({
    step_seconds: 'unknown',
    samples: 'declared',
  })
  const { facts, problem } = await readAs({ format: 'hugging-face' }, state())
  expect([facts.samples, problem]).toEqual(['unknown', null])
})

test('one of several held-out sets is chosen', async () => {
  const history = [
    { eval_dev_loss: 0.25, eval_dev_runtime: 1, eval_test_loss: 0.5, eval_dev_f1: 0.9, step: 20 },
  ]
  const { evaluations } = await readAs(
    { ...SECTION, val_loss: 'eval_dev_loss' },
    state({ log_history: history }),
  )
  expect(evaluations).toMatchObject([{ val_loss: 0.25, metrics: { f1: 0.9 }, seconds: 1 }])
})

test('the state of a checkpoint is no whole run', async () => {
  expect(await problemAs(SECTION, state({ max_steps: 40 }))).toMatch(
    /^truncated: trainer_state\.json: ends at step 20 of 40.*save_state/,
  )
})

test('what is wrong is told', async () => {
  expect(await problemAs(SECTION, ['{"global_step": 2', ' '])).toMatch(/^truncated: trainer_state\.json/)
  expect(await problemAs(SECTION, ['{}'])).toMatch(/^malformed: trainer_state\.json: .*log_history/)
  expect(await problemAs(SECTION, [''])).toMatch(/^empty: trainer_state\.json/)
  expect(await problemAs(SECTION, state({ log_history: [] }))).toMatch(/no evaluation/)
  const diverged = state().map((line) => line.replace('0.5625123456789', 'NaN'))
  expect(await problemAs(SECTION, diverged)).toMatch(
    /^not-finite: trainer_state\.json log_history\.3: .*NaN.*diverged/,
  )
  const nothing = state({ log_history: [{ step: 20, eval_loss: null }] })
  expect(await problemAs(SECTION, nothing)).toMatch(
    /log_history\.0: val_loss \(eval_loss\): got null.*diverged/,
  )
})

test('a number that is none is wrong only where it is read', async () => {
  const unread = state().map((line) => line.replace(/("(?:grad_norm|total_flos)": )[^,]+/, '$1NaN'))
  expect(unread.join()).toContain('"grad_norm": NaN')
  expect((await readAs(SECTION, unread)).evaluations).toEqual((await readAs(SECTION, state())).evaluations)
  const read = state().map((line) => line.replace('"eval_accuracy": 0.75', '"eval_accuracy": Infinity'))
  const { problem, evaluations } = await readAs(SECTION, read)
  expect([problem, evaluations.at(-1)?.not_finite]).toEqual([null, ['accuracy']])
})
