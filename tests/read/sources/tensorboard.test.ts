// Scalars of TensorBoard, one a line as the converter writes them, give windows of steps by their clock times.
import { describe, expect, test } from 'vitest'
import { problemAs, problemsAs, readAs } from '../../fixtures/sources.ts'

const SECTION = { format: 'tensorboard', samples_per_step: 16 }
const scalar = (tag: string | null, step: number, wall_time: number, value: number | null) =>
  JSON.stringify({ tag, step, wall_time, value })
/** As a Hugging Face Trainer leaves them. */
const LINES = [
  scalar(null, 0, 100, null),
  scalar('train/loss', 10, 110, 3),
  scalar('train/grad_norm', 10, 110, 1),
  scalar('train/loss', 20, 115, 2),
  scalar('eval/loss', 20, 117, 2.5),
  scalar('eval/runtime', 20, 117, 1.5),
  scalar('train/loss', 30, 121.5, 1),
  scalar('eval/loss', 30, 123, 1.5),
  scalar('eval/runtime', 30, 123, 1.5),
]

test('the time between two rows is that of the steps, less the evaluations', async () => {
  const { problem, steps, evaluations, facts } = await readAs(SECTION, LINES)
  expect(problem).toBeNull()
  expect([steps.seconds[0], steps.seconds[10], steps.seconds[20]]).toEqual([1, 0.5, 0.5])
  expect([steps.seconds.length, steps.trainLoss[29], steps.held.length]).toEqual([30, 1, 0])
  expect(evaluations).toMatchObject([
    { step: 20, samples_seen: 320, val_loss: 2.5, seconds: 1.5 },
    { step: 30, samples_seen: 480, val_loss: 1.5, seconds: 1.5 },
  ])
  expect(facts).toMatchObject({ step_seconds: 'derived', samples: 'declared' })
})

test('a tag may have the seconds of each step, counted from 0', async () => {
  const section = {
    ...SECTION,
    keys: { step_seconds: 'time', val_loss: 'val_loss', train_loss: 'loss' },
    first_step: 0,
  }
  const lines = [scalar('time', 0, 1, 0.5), scalar('time', 1, 2, 0.25), scalar('val_loss', 1, 3, 2)]
  const { problem, steps, evaluations, facts } = await readAs(section, lines)
  expect([problem, steps.seconds, facts.step_seconds]).toEqual([null, [0.5, 0.25], 'read'])
  expect(evaluations).toMatchObject([{ step: 2, samples_seen: 32 }])
})

test('a tag that is not there is named', async () => {
  const problems = await problemsAs({ ...SECTION, keys: { val_loss: 'eval/los' } }, LINES)
  expect(problems).toEqual([expect.stringMatching(/scalars\.jsonl: has no scalar eval\/los;/)])
  expect(
    await problemAs(
      SECTION,
      LINES.with(7, scalar('eval/loss', 30, 123, 0).replace('"value":0', '"value":NaN')),
    ),
  ).toMatch(/^not-finite: scalars\.jsonl line 9: val_loss \(eval\/loss\)/)
  expect(await problemAs(SECTION, [])).toMatch(/^empty/)
})

describe('an evaluation after a step that has no row', () => {
  const rows = (last: number) =>
    Array.from({ length: last / 10 }, (_, index) => scalar('train/loss', 10 * (index + 1), 100 + index, 1))

  test('is refused behind the last row: the time of the steps between is unknown', async () => {
    expect(await problemAs(SECTION, [...rows(100), scalar('eval/loss', 105, 200, 1)])).toMatch(
      /^malformed: scalars\.jsonl line 11: .*after 105 steps.*of step 100.*logging_steps.*max_steps/,
    )
  })

  test('is read where a later row has the time', async () => {
    const lines = [...rows(100), scalar('eval/loss', 105, 200, 1), scalar('train/loss', 105, 201, 1)]
    const { problem, evaluations } = await readAs(SECTION, lines)
    expect(problem).toBeNull()
    expect(evaluations).toMatchObject([{ step: 105, samples_seen: 1680 }])
  })
})
