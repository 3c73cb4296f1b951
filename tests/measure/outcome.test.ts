// A run is finished on proof alone: exit code 0 and whole metrics; everything else has a typed reason.

import { describe, expect, test } from 'vitest'
import { isIdle, type LaunchEnd, outcomeOf, type RankFailure } from '../../src/measure/outcome.ts'
import { metricsProblem } from '../../src/read/read-metrics.ts'
import { aLaunchRecord, aPlannedRun, metricsLines, readMetricsLines } from '../fixtures/builders.ts'

const ENDS = {
  'exit code 0': { status: 'exited', exitCode: 0, wallSeconds: 9 },
  'exit code 1': { status: 'exited', exitCode: 1, wallSeconds: 9 },
  SIGKILL: { status: 'signalled', signal: 'SIGKILL', wallSeconds: 9 },
  'time-out': { status: 'timed-out', wallSeconds: 3600 },
  cancel: { status: 'cancelled', wallSeconds: 9 },
  'no start': { status: 'not-started', message: 'no such file: python3' },
} satisfies Record<string, LaunchEnd>

const METRICS = {
  whole: await readMetricsLines(metricsLines()),
  truncated: await readMetricsLines(metricsLines().slice(0, -1)),
  'with NaN': await readMetricsLines(['{"event":"steps","train_loss":[NaN]}']),
  'out of order': await readMetricsLines(metricsLines().slice(1)),
  empty: await readMetricsLines([]),
  absent: metricsProblem('absent', 'the trainer wrote no metrics.jsonl into --out'),
  'too large': metricsProblem('too-large', 'metrics.jsonl has 1000000000 bytes'),
  unread: null,
}

const run = aPlannedRun()

function verdictOf(
  end: LaunchEnd,
  metrics: (typeof METRICS)[keyof typeof METRICS],
  errors: RankFailure[] = [],
) {
  const outcome = outcomeOf(run, aLaunchRecord({ errors }, end), metrics)
  return outcome.status === 'failed' ? outcome.reason : outcome.status
}

test('every end of a launch with every state of its metrics has one outcome', () => {
  const rows = Object.entries(ENDS).flatMap(([endName, end]) =>
    Object.entries(METRICS).map(([name, metrics]) => `${endName}, ${name}: ${verdictOf(end, metrics)}`),
  )
  expect(rows).toMatchInlineSnapshot(`
    [
      "exit code 0, whole: finished",
      "exit code 0, truncated: bad-metrics",
      "exit code 0, with NaN: diverged",
      "exit code 0, out of order: bad-metrics",
      "exit code 0, empty: no-metrics",
      "exit code 0, absent: no-metrics",
      "exit code 0, too large: bad-metrics",
      "exit code 0, unread: no-metrics",
      "exit code 1, whole: exit-code",
      "exit code 1, truncated: exit-code",
      "exit code 1, with NaN: diverged",
      "exit code 1, out of order: exit-code",
      "exit code 1, empty: exit-code",
      "exit code 1, absent: exit-code",
      "exit code 1, too large: exit-code",
      "exit code 1, unread: exit-code",
      "SIGKILL, whole: signal",
      "SIGKILL, truncated: signal",
      "SIGKILL, with NaN: diverged",
      "SIGKILL, out of order: signal",
      "SIGKILL, empty: signal",
      "SIGKILL, absent: signal",
      "SIGKILL, too large: signal",
      "SIGKILL, unread: signal",
      "time-out, whole: no-exit",
      "time-out, truncated: timed-out",
      "time-out, with NaN: timed-out",
      "time-out, out of order: timed-out",
      "time-out, empty: timed-out",
      "time-out, absent: timed-out",
      "time-out, too large: bad-metrics",
      "time-out, unread: timed-out",
      "cancel, whole: cancelled",
      "cancel, truncated: cancelled",
      "cancel, with NaN: cancelled",
      "cancel, out of order: cancelled",
      "cancel, empty: cancelled",
      "cancel, absent: cancelled",
      "cancel, too large: cancelled",
      "cancel, unread: cancelled",
      "no start, whole: not-started",
      "no start, truncated: not-started",
      "no start, with NaN: not-started",
      "no start, out of order: not-started",
      "no start, empty: not-started",
      "no start, absent: not-started",
      "no start, too large: not-started",
      "no start, unread: not-started",
    ]
  `)
})

test('a run that was not launched is not run', () => {
  expect(outcomeOf(run, null, METRICS.whole)).toEqual({ status: 'not-run', run, reason: 'stopped' })
  expect(outcomeOf(run, null, null, 'decided')).toMatchObject({ reason: 'decided' })
})

describe('the error file of a rank', () => {
  const error = (difference: Partial<RankFailure>): RankFailure => ({
    rank: 1,
    cause: 'error',
    message: 'RuntimeError: boom',
    step: null,
    ...difference,
  })

  test('tells the reason that an exit code cannot tell', () => {
    const errors = [
      error({}),
      error({ rank: 3, cause: 'out-of-memory', message: 'CUDA out of memory', step: 7 }),
    ]
    expect(outcomeOf(run, aLaunchRecord({ errors }, ENDS['exit code 1']), METRICS.truncated)).toMatchObject({
      reason: 'out-of-memory',
      message: 'rank 3, step 7: CUDA out of memory',
    })
    expect(verdictOf(ENDS['exit code 1'], METRICS.truncated, [error({ cause: 'diverged' })])).toBe('diverged')
    expect(verdictOf(ENDS.SIGKILL, METRICS.truncated, [error({ cause: 'out-of-memory' })])).toBe(
      'out-of-memory',
    )
  })

  test('is quoted when its cause is not known', () => {
    expect(outcomeOf(run, aLaunchRecord({ errors: [error({})] }, ENDS['exit code 1']), null)).toMatchObject({
      reason: 'exit-code',
      message: 'rank 1: RuntimeError: boom',
    })
    const nowhere = error({ rank: null })
    expect(outcomeOf(run, aLaunchRecord({ errors: [nowhere] }, ENDS['exit code 1']), null)).toMatchObject({
      message: 'RuntimeError: boom',
    })
  })

  test('fails a run even with exit code 0', () => {
    expect(verdictOf(ENDS['exit code 0'], METRICS.whole, [error({})])).toBe('exit-code')
    expect(verdictOf(ENDS['exit code 0'], METRICS.whole, [error({ cause: 'out-of-memory' })])).toBe(
      'out-of-memory',
    )
  })
})

test('a failure keeps what was measured, and says what to do', () => {
  const timedOut = outcomeOf(run, aLaunchRecord({}, ENDS['time-out']), METRICS.truncated)
  expect(timedOut).toMatchObject({
    wallSeconds: 3600,
    message: expect.stringMatching(/limit of 1 h 00 min .*step 40\).* launch\.timeout_minutes/),
    metrics: { steps: { seconds: Array(40).fill(0.08) } },
  })
  expect(outcomeOf(run, aLaunchRecord({}, ENDS['time-out']), METRICS.empty)).toMatchObject({
    message: expect.stringMatching(/^no step was reported .* 1 h 00 min/),
  })
})

test('a training that is done but does not exit needs no longer limit', () => {
  const launch = aLaunchRecord({ lastLine: 'bye' }, ENDS['time-out'])
  const outcome = outcomeOf(run, launch, METRICS.whole)
  expect(outcome).toMatchObject({ reason: 'no-exit', message: expect.stringMatching(/did not exit.*bye$/) })
  expect(outcome).not.toMatchObject({ message: expect.stringContaining('timeout_minutes') })
})

test('an error after which the launch did not end is the reason, and no longer limit', () => {
  const errors: RankFailure[] = [{ rank: 1, cause: 'error', message: 'ValueError: no batch', step: 3 }]
  const outcome = outcomeOf(
    run,
    aLaunchRecord({ errors, lastLine: 'bye' }, ENDS['time-out']),
    METRICS.truncated,
  )
  const message = expect.stringMatching(/^rank 1, step 3: ValueError: no batch.* 1 h 00 min$/)
  expect(outcome).toMatchObject({ reason: 'timed-out', message })
})

test('an end that a reader infers from the last line is no end', () => {
  expect(verdictOf(ENDS['time-out'], { ...METRICS.whole, reader: 'log' })).toBe('timed-out')
})

test.each([
  ['hangs', 100, 10, false],
  ['goes on to its limit', 3590, 10, true],
  ['evaluates for long between reports', 2000, 900, true],
])('a training that %s at its time-out is told to have more time only if it would help', (...row) => {
  const [, lastSeconds, longestGapSeconds, isAdvised] = row
  const launch = aLaunchRecord({ reports: { lastSeconds, longestGapSeconds } }, ENDS['time-out'])
  const outcome = outcomeOf(run, launch, METRICS.truncated)
  if (outcome.status !== 'failed') throw new Error(outcome.status)
  expect(outcome.reason).toBe('timed-out')
  expect(outcome.message.includes('launch.timeout_minutes')).toBe(isAdvised)
})

test('a rank that left no error is the cause, whatever the error files of others say', () => {
  const errors: RankFailure[] = [{ rank: 0, cause: 'error', message: 'RuntimeError: gone', step: null }]
  const launch = { errors, lastLine: 'no such file', rankExit: { rank: 1, exitCode: 1 } }
  expect(outcomeOf(run, aLaunchRecord(launch, ENDS['exit code 1']), null)).toMatchObject({
    reason: 'exit-code',
    message: expect.stringMatching(/rank 1\b.*no such file$/),
  })
})

test('a rank that a signal ended is a failure by a signal, and says after which step', () => {
  const errors: RankFailure[] = [{ rank: 1, cause: 'signal', message: 'ended by SIGKILL', step: null }]
  const launch = aLaunchRecord({ errors }, ENDS['exit code 1'])
  expect(outcomeOf(run, launch, METRICS.truncated)).toMatchObject({
    reason: 'signal',
    message: expect.stringMatching(/rank 1, after reported step 40: ended by SIGKILL/),
  })
})

test('an exit has the code of the rank that failed first, which torchrun tells', () => {
  const messageOf = (exitCode: number) => {
    const changes = { lastLine: null, rankExit: { rank: 2, exitCode } }
    return outcomeOf(run, aLaunchRecord(changes, ENDS['exit code 1']), null)
  }
  expect(messageOf(3)).toMatchObject({
    message: `exit code 3 of rank 2; the trainer printed nothing into runs/${run.id}/log.txt`,
  })
  expect(messageOf(1)).toMatchObject({
    message: expect.stringMatching(/^exit code 1 of rank 2; the trainer/),
  })
})

test.each([
  ['no such option', /^exit code 1; runs\/[\w-]+\/log\.txt ends with: no such option$/],
  [null, /^exit code 1; the trainer printed nothing into runs\/[\w-]+\/log\.txt$/],
  [undefined, /^exit code 1; see runs\/[\w-]+\/log\.txt$/],
])('an exit without an error, after the last line %j, names the log and that line', (lastLine, message) => {
  const launch = aLaunchRecord({ lastLine }, ENDS['exit code 1'])
  expect(outcomeOf(run, launch, null)).toMatchObject({ message: expect.stringMatching(message) })
})

test('an exit with 0 and without a step may be told by what was printed last, and no other end is', () => {
  const launch = aLaunchRecord({}, ENDS['exit code 0'])
  const idleBy = (metrics: (typeof METRICS)[keyof typeof METRICS], of = launch) =>
    isIdle(of, outcomeOf(run, of, metrics))
  expect([METRICS.absent, METRICS.empty, METRICS.unread].map((metrics) => idleBy(metrics))).toEqual([
    ...[true, true, true],
  ])
  expect([METRICS.whole, METRICS.truncated].map((metrics) => idleBy(metrics))).toEqual([false, false])
  expect(idleBy(METRICS.absent, aLaunchRecord({}, ENDS['exit code 1']))).toBe(false)
  const said = outcomeOf(run, { ...launch, lastLine: 'no gpus' }, METRICS.empty)
  expect(said).toMatchObject({ reason: 'no-metrics', message: expect.stringMatching(/ends with: no gpus$/) })
})
