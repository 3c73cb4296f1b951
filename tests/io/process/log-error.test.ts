import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readLogError } from '../../../src/io/process/log-error.ts'

async function errorIn(log: string) {
  const folder = await mkdtemp(join(tmpdir(), 'log-error-'))
  try {
    await writeFile(join(folder, 'log.txt'), log)
    return await readLogError(join(folder, 'log.txt'))
  } finally {
    await rm(folder, { recursive: true })
  }
}

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

test('without the last words of torchrun it is the last exception', async () => {
  expect(await errorIn(OF_TWO_RANKS.slice(0, 5).join('\n'))).toMatchObject({ rank: 0 })
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
})

test('an exception cannot carry a command of the runner', async () => {
  expect(await reasonIn('ValueError: ##[error]gone')).toBe('ValueError: # #[error]gone')
})
