// The metrics section of an experiment is checked by `plan`: formats, paths, and patterns that could hang a reader.
import { describe, expect, test } from 'vitest'
import { METRICS_FORMATS } from '../../src/config/metrics.ts'
import { parseExperiment } from '../../src/config/parse-experiment.ts'
import { refusal } from '../fixtures/refusal.ts'

const textWith = (metrics: unknown) =>
  [
    'name: two-task',
    'kind: same-work',
    'trainer: { module: trainer }',
    'variants: { baseline: { config: a.yaml }, optimized: { config: b.yaml } }',
    ...(metrics === undefined ? [] : [`metrics: ${JSON.stringify(metrics)}`]),
  ].join('\n')
const parsed = (metrics?: unknown) => parseExperiment(textWith(metrics), 'x.yaml').metrics
const refused = (metrics: unknown) => refusal(() => parsed(metrics))

test('without it, the training writes the file of the contract', () => {
  expect(parsed()).toEqual({ format: 'speedproof' })
})

test('an unknown format is answered with the known ones', () => {
  expect(refused({ format: 'csv' })).toMatch(
    /metrics\.format: got "csv", expected one of speedproof, .*wandb-offline/,
  )
  expect(METRICS_FORMATS).toContain('log')
})

test('an unknown key is answered with those of its format', () => {
  expect(refused({ format: 'hugging-face', samples: 3 })).toMatch(
    /metrics\.samples: unknown key.*samples_per_step/,
  )
})

test.each(['/etc/passwd', '../metrics.jsonl', 'a/../../b', './x', 'a\\b'])(
  'no path leads out of the folder: %s',
  (file) => {
    expect(refused({ format: 'jsonl', file, keys: { step: 's', val_loss: 'l' } })).toMatch(
      /metrics\.file: got .*without \.\./,
    )
  },
)

describe('a pattern', () => {
  const withStep = (step: string) => ({
    format: 'log',
    patterns: { step, evaluation: 'step (?<step>\\d+) (?<val_loss>\\S+)' },
  })

  test.each([
    '(?<step>\\d+)',
    "\\{'loss': (?<train_loss>[^,]+), .*'step': (?P<step>\\d+)",
    'iter (?<step>\\d+)(?: of \\d+)?: (?:took )?(?<step_seconds>[\\d.]+)',
    '(?<step>\\d+) [a|b(c+)+]*',
    '(?<step>\\d+)(?:a|(b+)*)+$',
    '.*.*.*.*(?<step>\\d+)',
  ])('may be %s', (step) => {
    expect(parsed(withStep(step))).toMatchObject({ patterns: { step } })
  })

  test.each([
    ['(?<step>', /patterns\.step: got .*a regular expression that .*missing/],
    ['iter (\\d+)', /patterns\.step: got .*a group \(\?<step>/],
    [
      '(?<step>\\d+) (?<loss>\\S+)',
      /only the groups step, step_seconds, samples, train_loss in it, but there is loss/,
    ],
    ['(?<step>\\d+) \\1', /RE2.* back-references.*\\1/],
    ['(?P<step>\\d+) (?P=step)', /RE2.* back-references/],
    ['(?<=step )(?<step>\\d+)', /RE2.* look-around.*\(\?<=/],
    ['(?<step>\\d+)(?! of)', /RE2.* look-around.*\(\?!/],
    ['(?<step>\\d+)(?:\\w{1,50}){1,50}', /RE2.*repeat count/],
    ['(?<step>\\d+)(?:(?:\\w?){30}){30}', /a shorter regular expression, or one with smaller numbers/],
  ])('may not be %s', (step, told) => {
    expect(refused(withStep(step))).toMatch(told)
  })
})
