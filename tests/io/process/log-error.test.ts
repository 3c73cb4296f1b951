import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readLogError } from '../../../src/io/process/log-error.ts'

async function reasonIn(log: string) {
  const folder = await mkdtemp(join(tmpdir(), 'log-error-'))
  try {
    await writeFile(join(folder, 'log.txt'), log)
    return (await readLogError(join(folder, 'log.txt')))?.message
  } finally {
    await rm(folder, { recursive: true })
  }
}

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

test('a log without an exception names none', async () => {
  expect(await reasonIn('step 1: loss 0.5\nan Error: in the middle of a line\n')).toBeUndefined()
})

test('a log that is absent names none', async () => {
  expect(await readLogError('/no/such/log.txt')).toBeNull()
})

test('an exception cannot carry a command of the runner', async () => {
  expect(await reasonIn('ValueError: ##[error]gone')).toBe('ValueError: # #[error]gone')
})
