// What an evaluation process leaves behind, whole or broken, is read line by line.
import { describe, expect, test } from 'vitest'
import type { LaunchEnd, RankFailure } from '../../src/measure/outcome.ts'
import { readReevaluation } from '../../src/measure/reevaluation.ts'
import { aLaunchRecord } from '../fixtures/builders.ts'

const LINE = '{"run": "/out/runs/a/trainer", "val_loss": 0.02, "metrics": {"nrmse": 0.1}}'

test('each line is the numbers of a run, named as gates name them', () => {
  const { numbers, problem } = readReevaluation(aLaunchRecord(), [
    LINE,
    '{"run": "runs/b/trainer", "val_loss": 0.03}',
  ])
  expect([...numbers]).toEqual([
    ['a', { val_loss: 0.02, 'evaluation.nrmse': 0.1 }],
    ['b', { val_loss: 0.03 }],
  ])
  expect(problem).toBeNull()
})

test.each([
  [
    '{"run": "b", "val_lo',
    'not valid JSON (20 characters, cut off?): "{\\"run\\": \\"b\\", \\"val_lo"; write one JSON object a line, one for each run',
  ],
  [
    '{"run": "b"}',
    'val_loss: missing; expected a finite number; write one JSON object a line, one for each run',
  ],
  [
    '{"run": "b", "val_loss": null}',
    'val_loss: got null, expected a finite number; write one JSON object a line, one for each run',
  ],
  [
    '{"run": "b", "val_loss": NaN}',
    'val_loss: NaN is not a number; expected the numbers that the run reported at its end',
  ],
  [
    `[${LINE}]`,
    'the line: got [{"run":"/out/runs/a/trainer","val_loss":0.02,"metrics":{"nrmse":0.1}}], expected a mapping; write one JSON object a line, one for each run',
  ],
  ['done', 'not valid JSON: "done"; write one JSON object a line, one for each run'],
])(
  'a line such as %s ends the reading, is told with its place and remedy, and what came before counts',
  (broken, why) => {
    const { numbers, problem } = readReevaluation(aLaunchRecord(), [LINE, '', broken, LINE])
    expect([...numbers.keys()]).toEqual(['a'])
    expect(problem).toBe(`evaluations.jsonl line 3: ${why}`)
  },
)

test('the file may begin with a byte order mark, and have blank lines and CRLF', () => {
  const { numbers, problem } = readReevaluation(aLaunchRecord(), [`\uFEFF${LINE}\r`, '\r', ''])
  expect([[...numbers.keys()], problem]).toEqual([['a'], null])
})

test('two lines of one run are told by their numbers, and the first is kept for the eye', () => {
  const again = '{"run": "other/out/runs/a/trainer", "val_loss": 0.5}'
  const { numbers, doubled } = readReevaluation(aLaunchRecord(), [
    LINE,
    '{"run": "runs/b/trainer", "val_loss": 1}',
    again,
  ])
  expect(doubled).toEqual([expect.stringMatching(/^evaluations\.jsonl: lines 1 and 3 are both of a\b/)])
  expect(numbers.get('a')?.val_loss).toBe(0.02)
})

test('a folder that is not the trainer folder of a run keeps its name', () => {
  const { numbers } = readReevaluation(aLaunchRecord(), ['{"run": "/out/runs/a", "val_loss": 1}'])
  expect([...numbers.keys()]).toEqual(['/out/runs/a'])
})

describe('a process that did not end well says why', () => {
  const wallSeconds = 1
  const error: RankFailure = { rank: null, cause: 'error', message: 'KeyError: 3', step: null }
  test.each<[LaunchEnd, readonly RankFailure[], string]>([
    [{ status: 'exited', exitCode: 1, wallSeconds }, [error], 'exit code 1: KeyError: 3'],
    [
      { status: 'exited', exitCode: 1, wallSeconds },
      [],
      'exit code 1; evaluation/log.txt ends with: no --run',
    ],
    [
      { status: 'exited', exitCode: 1, wallSeconds },
      [{ ...error, message: 'AssertionError', location: 'evaluate.py, line 3' }],
      'exit code 1: AssertionError at evaluate.py, line 3; see evaluation/log.txt',
    ],
    [
      { status: 'signalled', signal: 'SIGKILL', wallSeconds },
      [],
      'ended by SIGKILL; evaluation/log.txt ends with: no --run',
    ],
    [
      { status: 'timed-out', wallSeconds },
      [],
      expect.stringMatching(/limit of 1 s\. .*launch\.timeout_minutes.*--resume --timeout-minutes/),
    ],
    [{ status: 'cancelled', wallSeconds }, [], 'cancelled'],
    [{ status: 'not-started', message: 'cannot start "x"' }, [], 'cannot start "x"'],
  ])('%j', (end, errors, expected) => {
    const { numbers, problem } = readReevaluation(aLaunchRecord({ errors, lastLine: 'no --run' }, end), [
      LINE,
    ])
    expect(problem).toEqual(expected)
    expect(numbers.size).toBe(1)
  })
})

test('an evaluation with which the experiment ended has no record, and what it wrote counts', () => {
  const { launch, numbers, problem } = readReevaluation(null, [LINE])
  expect([launch, [...numbers.keys()], problem]).toEqual([
    null,
    ['a'],
    'the experiment ended before the evaluation',
  ])
})
