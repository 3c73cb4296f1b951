// What is left of a failed launch is weighed: the launcher's report, error files, and the log.
import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findRootCause, lastPrintedIn } from '../../../../src/io/process/log/root-cause.ts'
import type { LaunchEnd } from '../../../../src/measure/outcome.ts'
import { aFolder } from '../../../fixtures/processes/launching.ts'

const FAILED: LaunchEnd = { status: 'exited', exitCode: 1, wallSeconds: 9 }

async function findings(
  lines: readonly string[],
  files: Readonly<Record<number, string>> = {},
  end: LaunchEnd = FAILED,
) {
  const folder = await aFolder()
  const traces = { logFile: join(folder, 'log.txt'), errorDirectory: join(folder, 'errors') }
  await writeFile(traces.logFile, lines.join('\n'))
  for (const [rank, message] of Object.entries(files)) {
    const file = join(traces.errorDirectory, 'none_0', 'attempt_0', rank, 'error.json')
    await mkdir(join(file, '..'), { recursive: true })
    const extraInfo = { timestamp: '500' }
    await writeFile(file, JSON.stringify({ message: { message, extraInfo } }))
    await utimes(file, 1000 + Number(rank), 1000 + Number(rank))
  }
  return await findRootCause(traces, end)
}

const exit = (rank: number, code: number) => [
  `  rank      : ${rank} (local_rank: ${rank})`,
  `  exitcode  : ${code} (pid: 28378) `,
]
const report = (root: readonly string[], ...others: (readonly string[])[]) => [
  'Traceback (most recent call last):',
  '  File "<frozen runpy>", line 198, in _run_module_as_main',
  'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
  'Failures:',
  ...others.flat(),
  'Root Cause (first observed failure):',
  ...root,
]
const GONE = 'RuntimeError: [pair.cc:561] Connection closed by peer [127.0.0.1]:21888'

test('the rank that the launcher names comes before one that failed later', async () => {
  const log = [
    '[rank1]: ValueError: no data',
    '[rank0]: ValueError: other',
    ...report(exit(1, 1), exit(0, 1)),
  ]
  expect(await findings(log)).toMatchObject({ errors: [{ rank: 1, message: 'ValueError: no data' }] })
})

test('a signal comes before the error file of another rank', async () => {
  const { errors } = await findings(report(exit(1, -9)), { 0: GONE })
  expect(errors).toMatchObject([{ rank: 1, cause: 'signal', message: 'ended by SIGKILL' }, { rank: 0 }])
})

test('a rank that was merely seen first does not hide the one that it lost', async () => {
  const killed = await findings(report(exit(0, 1), exit(1, -9)), { 0: GONE })
  expect(killed.errors[0]).toMatchObject({ rank: 1, cause: 'signal' })
  const left = await findings(['no such file', `[rank0]: ${GONE}`, ...report(exit(0, 1), exit(1, 1))], {
    0: GONE,
  })
  expect(left).toMatchObject({ rankExit: { rank: 1, exitCode: 1 }, lastLine: 'no such file' })
  const raised = await findings([`[rank0]: ${GONE}`, '[rank1]: ValueError: no data', ...report(exit(0, 1))])
  expect(raised.errors[0]).toMatchObject({ rank: 1, message: 'ValueError: no data' })
})

test('a rank that torchrun itself ended has no say', async () => {
  const { errors } = await findings([`[rank0]: ${GONE}`, ...report(exit(0, 1), exit(1, -15))])
  expect(errors).toMatchObject([{ rank: 0, message: GONE }])
})

test('of several error files the first one that is no consequence counts', async () => {
  const { errors } = await findings([], { 0: GONE, 1: 'ValueError: no data', 2: GONE })
  expect(errors.map(({ rank }) => rank)).toEqual([1, 0, 2])
})

test('an exception without a rank is of the rank at fault, unless ranks have different ones', async () => {
  const same = await findings(['ValueError: a', 'ValueError: a', ...report(exit(1, 1))])
  expect(same.errors).toMatchObject([{ rank: 1, message: 'ValueError: a' }])
  const different = await findings(['ValueError: a', 'ValueError: b', ...report(exit(1, 1))])
  expect(different.errors).toMatchObject([{ rank: null }])
})

test('a lost connection that no rank owns is told with what was printed beside it', async () => {
  const traceback = ['Traceback (most recent call last):', '  File "t.py", line 3, in f', GONE]
  const { errors } = await findings(['no such file', ...traceback, ...report(exit(1, 1))])
  expect(errors).toMatchObject([{ rank: null, message: expect.stringMatching(/peer.*no such file$/) }])
})

test('an exception without a rank that another rank has in its error file is not of the rank at fault', async () => {
  const log = ['ValueError: a', 'no such file', ...report(exit(1, 1))]
  const { rankExit, lastLine } = await findings(log, { 0: 'ValueError: a' })
  expect(rankExit).toEqual({ rank: 1, exitCode: 1 })
  expect(lastLine).toContain('no such file')
})

test('the text of an exit is found above the traceback of a rank that lost it', async () => {
  const traceback = ['Traceback (most recent call last):', '  File "t.py", line 3, in f', GONE]
  for (const log of [
    ['no such file', ...traceback],
    [...traceback, 'no such file'],
  ]) {
    const { lastLine, rankExit } = await findings([...log, ...report(exit(1, 1))], { 0: GONE })
    expect([lastLine, rankExit?.rank]).toEqual(['no such file', 1])
  }
})

test.each([
  ['torchrun', 1, report(exit(1, -11)), { rank: 1, message: 'ended by SIGSEGV' }],
  ['torchrun over a shell', 1, report(exit(1, 137)), { rank: 1, message: 'ended by SIGKILL' }],
  [
    'srun',
    137,
    ['srun: error: n1: task 3: Segmentation fault (core dumped)'],
    { rank: 3, message: 'ended by SIGSEGV' },
  ],
  [
    'a shell',
    139,
    ['./train.sh: line 3: 81 Segmentation fault'],
    { rank: null, message: 'ended by SIGSEGV' },
  ],
  [
    'DeepSpeed',
    247,
    ["[ERROR] ['python', '--local_rank=2'] exits with return code = -7"],
    { rank: 2, message: 'ended by SIGBUS' },
  ],
])('a signal is known below %s', async (_, exitCode, log, expected) => {
  const { errors } = await findings(log, {}, { ...FAILED, exitCode })
  expect(errors).toMatchObject([{ cause: 'signal', ...expected }])
})

test('a code above 128 that is the program’s own stays one', async () => {
  expect(await findings(['bye'], {}, { ...FAILED, exitCode: 130 })).toEqual({ errors: [], lastLine: 'bye' })
})

test.each([
  [
    'what C++ says',
    ["terminate called after throwing an instance of 'E'", '  what():  std::bad_alloc'],
    'out-of-memory',
  ],
  ['what it printed last, not', ['CUDA out of memory is near'], 'out-of-memory'],
])('an end by a signal has the kind of %s', async (_, log, cause) => {
  const end: LaunchEnd = { status: 'signalled', signal: 'SIGABRT', wallSeconds: 9 }
  expect((await findings(log, {}, end)).errors).toMatchObject([{ cause }])
})

test.each([
  [
    'of argparse',
    ['usage: t.py [-h]', 't.py: error: no --seed'],
    'usage: t.py [-h] / t.py: error: no --seed',
  ],
  ['of sys.exit, after steps', ['step 1', '', 'no checkpoint here'], 'no checkpoint here'],
  ['but no warning', ['bye', 'x.py:4: UserWarning: leaked', '  warnings.warn('], 'bye'],
  ['but no command of the runner', ['##[error]gone'], '# #[error]gone'],
  ['after a carriage return', ['20 of 30\rbye'], 'bye'],
  ['behind a bar', [' 20%|██        | 1/5 [00:01<00:04,  1.00it/s]bye'], 'bye'],
  ['or a bar where there is nothing else', ['\r 10%|█   | 1/9\r 20%|██   | 2/9'], '20%|██   | 2/9'],
  ['if there is one', [], null],
])('without an error the last lines are told: %s', async (_, lines, expected) => {
  const rankExit = { rank: 1, exitCode: 2 }
  expect(await findings([...lines, ...report(exit(1, 2))])).toEqual({
    errors: [],
    lastLine: expected,
    rankExit,
  })
})

test('a log that is absent tells nothing', async () => {
  const traces = { logFile: '/no/such/log.txt', errorDirectory: null }
  expect(await findRootCause(traces, FAILED)).toEqual({ errors: [], lastLine: null })
  expect(await lastPrintedIn('/no/such/log.txt')).toBeNull()
})

test('of a launch that ended well, or was cancelled, nothing but error files are read', async () => {
  for (const end of [
    { ...FAILED, exitCode: 0 },
    { status: 'cancelled', wallSeconds: 9 },
  ] as const) {
    expect(await findings(['ValueError: handled'], {}, end)).toEqual({ errors: [] })
    expect((await findings([], { 1: 'ValueError: a' }, end)).errors).toMatchObject([{ rank: 1 }])
  }
})

test('what torchrun leaves of our SIGTERM at the time limit is no cause', async () => {
  const timedOut: LaunchEnd = { status: 'timed-out', wallSeconds: 18 }
  const ours = 'SignalException: Process 4903 got signal: 15'
  expect((await findings(['waiting for data'], { 0: ours }, timedOut)).errors).toEqual([])
  const own = { 0: ours, 1: "KeyError: 'lr'" }
  expect((await findings([], own, timedOut)).errors).toMatchObject([{ rank: 1, message: "KeyError: 'lr'" }])
})
