import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readLastLine, readLogError, readRankExit } from '../../../../src/io/process/log/log-error.ts'

async function readIn<T>(log: string, read: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'log-error-'))
  try {
    await writeFile(join(folder, 'log.txt'), log)
    return await read(join(folder, 'log.txt'))
  } finally {
    await rm(folder, { recursive: true })
  }
}

const errorIn = (log: string) => readIn(log, readLogError)
const lastLineIn = (lines: readonly string[]) => readIn(lines.join('\n'), readLastLine)
const reasonIn = async (log: string) => (await errorIn(log))?.message

test('the last exception of a worker is the reason, not that of torchrun', async () => {
  const log = [
    'Traceback (most recent call last):',
    '  File "train.py", line 3, in <module>',
    "ModuleNotFoundError: No module named 'solver'",
    'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
    'trainer FAILED',
  ]
  expect(await reasonIn(log.join('\n'))).toBe("ModuleNotFoundError: No module named 'solver'")
})

// As torch 2.15 and its torchrun write it, shortened.
const OF_TWO_RANKS = [
  '[rank1]: Traceback (most recent call last):',
  '[rank1]:   File "train.py", line 3, in <module>',
  '[rank1]: ValueError: the data folder is empty',
  '[rank0]: Traceback (most recent call last):',
  '[rank0]: RuntimeError: [pair.cc:561] Connection closed by peer [127.0.0.1]:21888',
  'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
  'Failures:',
  '[1]:',
  '  rank      : 0 (local_rank: 0)',
  'Root Cause (first observed failure):',
  '[0]:',
  '  rank      : 1 (local_rank: 1)',
  '  exitcode  : 1 (pid: 28378) ',
]

test('of ranks in a process group it is the one that failed first', async () => {
  const expected = { rank: 1, cause: 'error', message: 'ValueError: the data folder is empty' }
  expect(await errorIn(OF_TWO_RANKS.join('\n'))).toMatchObject(expected)
})

test('of a rank that a signal ended it is the signal, whatever the others say of it', async () => {
  const log = [
    '[rank0]: RuntimeError: [pair.cc:561] Connection closed by peer [127.0.0.1]:21888',
    'Root Cause (first observed failure):',
    '  rank      : 1 (local_rank: 1)',
    '  traceback : Signal 9 (SIGKILL) received by PID 7',
  ]
  const expected = { rank: 1, message: 'Signal 9 (SIGKILL) received by PID 7' }
  expect(await errorIn(log.join('\n'))).toMatchObject(expected)
})

test('of a rank that failed before its process group it is what stands there without a rank', async () => {
  const log = ['ValueError: the data folder is empty', ...OF_TWO_RANKS.slice(3)]
  expect(await errorIn(log.join('\n'))).toMatchObject({ message: 'ValueError: the data folder is empty' })
})

test('without the last words of torchrun it is the last exception', async () => {
  expect(await errorIn(OF_TWO_RANKS.slice(0, 5).join('\n'))).toMatchObject({ rank: 0 })
})

// As torch 2.15 and its torchrun write them, shortened.
const HEADER = [
  '',
  '*****************************************',
  'Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system ',
  '*****************************************',
]
const FOOTER = [
  'E1123 19:02:28.760000 27998 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 2) ',
  'Traceback (most recent call last):',
  '  File "<frozen runpy>", line 198, in _run_module_as_main',
  '    raise ChildFailedError(',
  'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
  '============================================================',
  'train.py FAILED',
  'Root Cause (first observed failure):',
  '[0]:',
  '  rank      : 1 (local_rank: 1)',
  '  exitcode  : 2 (pid: 28055) ',
  '  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html',
  '============================================================',
]
const USAGE = ['usage: train.py [-h] [--config CONFIG]', 'train.py: error: unrecognized arguments: --seed 0']

test.each([
  ['of argparse', USAGE, 'train.py: error: unrecognized arguments: --seed 0'],
  ['of sys.exit', ['no checkpoint here'], 'no checkpoint here'],
  ['but no warning', ['bye', 'x.py:4: UserWarning: leaked', '  warnings.warn('], 'bye'],
  ['but no command of the runner', ['##[error]gone'], '# #[error]gone'],
  ['if there is one', [], null],
])('without an exception the last line of a worker is found: %s', async (_, lines, expected) => {
  const log = [...HEADER, ...lines, ...FOOTER]
  expect(await errorIn(log.join('\n'))).toBeNull()
  expect(await lastLineIn(log)).toBe(expected)
  // A command without torchrun has its last line last.
  expect(await lastLineIn(lines)).toBe(expected)
})

test('the exit code of the rank that failed first stands in the last words of torchrun', async () => {
  const exitIn = (lines: readonly string[]) => readIn(lines.join('\n'), readRankExit)
  expect(await exitIn([...HEADER, ...FOOTER])).toEqual({ rank: 1, exitCode: 2 })
  expect(await exitIn(FOOTER.slice(0, -4))).toBeNull()
  expect(await exitIn(['  exitcode  : 4 (pid: 1)'])).toBeNull()
})

test('a rank that a signal ended is named, with the signal', async () => {
  const signal = '  traceback : Signal 9 (SIGKILL) received by PID 28055'
  const log = [...HEADER, 'step 14', ...FOOTER.map((line) => line.replace(/^ +traceback.*/, signal))]
  expect(await errorIn(log.join('\n'))).toMatchObject({
    rank: 1,
    cause: 'error',
    message: 'Signal 9 (SIGKILL) received by PID 28055',
  })
})

test('a lack of memory is known by its text', async () => {
  const log = '[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.'
  expect(await errorIn(log)).toMatchObject({ rank: 2, cause: 'out-of-memory' })
})

test('a log without an exception names none', async () => {
  expect(await reasonIn('step 1: loss 0.5\nan Error: in the middle of a line\n')).toBeUndefined()
})

test('a log that is absent names none', async () => {
  expect(await readLogError('/no/such/log.txt')).toBeNull()
  expect(await readLastLine('/no/such/log.txt')).toBeNull()
})

test('an exception cannot carry a command of the runner', async () => {
  expect(await reasonIn('ValueError: ##[error]gone')).toBe('ValueError: # #[error]gone')
})
