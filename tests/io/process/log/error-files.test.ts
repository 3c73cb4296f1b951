import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type RankError, readErrorFiles } from '../../../../src/io/process/log/error-files.ts'
import { aFolder, PYTHON, ROOT, run } from '../../../fixtures/processes/launching.ts'

const FIXTURES = join(ROOT, 'tests', 'fixtures')

/** Writes error.json for each rank where torchrun does; reads them all back. */
async function readBack(...contents: (object | string)[]): Promise<RankError[]> {
  const folder = await aFolder()
  for (const [rank, content] of contents.entries()) {
    const file = join(folder, 'none_a1b2', 'attempt_0', String(rank), 'error.json')
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
    await utimes(file, 1000 + rank, 1000 + rank)
  }
  return readErrorFiles(folder)
}

const recorded = (message: string, extraInfo: object = { timestamp: '500' }) => ({
  message: { message, extraInfo },
})

test('the agents of two nodes both count from rank 0, which is the rank of the training for neither', async () => {
  const folder = await aFolder()
  const files = { none_node0: recorded('of node 0'), none_node1: recorded('of node 1') }
  const named = { none_node2: recorded('of node 2', { timestamp: '501', rank: 2 }) }
  for (const [agent, content] of Object.entries({ ...files, ...named })) {
    const file = join(folder, agent, 'attempt_0', '0', 'error.json')
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, JSON.stringify(content))
  }
  const found = await readErrorFiles(folder, 2)
  expect(found.map(({ message, rank }) => [message, rank]).sort()).toEqual([
    ['of node 0', null],
    ['of node 1', null],
    ['of node 2', 2],
  ])
})

describe.concurrent('of real torchrun workers', () => {
  const torchrun = (folder: string, ...script: string[]) => ({
    command: [
      ...[
        PYTHON,
        '-m',
        'torch.distributed.run',
        '--standalone',
        '--nproc-per-node',
        '2',
        '--log-dir',
        folder,
      ],
      ...script,
    ],
    environment: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/', OMP_NUM_THREADS: '1' },
  })

  test('a launcher that is told by variables where to write has its own copy left out', async ({
    expect,
  }) => {
    const folder = await aFolder()
    const { environment } = torchrun(folder)
    const script = join(FIXTURES, 'processes', 'recorded_failure.py')
    const words = ['-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', '2', script]
    const variables = { PET_LOG_DIR: folder, TORCHELASTIC_ERROR_FILE: join(folder, 'error.json') }
    await run({ command: [PYTHON, ...words], environment: { ...environment, ...variables } })
    expect(existsSync(variables.TORCHELASTIC_ERROR_FILE)).toBe(true)
    expect((await readErrorFiles(folder)).map(({ rank }) => rank)).toEqual([1])
  })

  test('an exception that @record caught is read with its rank and cause', async ({ expect }) => {
    const folder = await aFolder()
    const { end } = await run(torchrun(folder, join(FIXTURES, 'processes', 'recorded_failure.py')))
    expect(end).toMatchObject({ status: 'exited', exitCode: 1 })
    expect(await readErrorFiles(folder)).toEqual([
      {
        rank: 1,
        cause: 'out-of-memory',
        message: 'OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.',
        step: null,
        timestamp: expect.any(Number),
      },
    ])
  })

  test('a worker killed by SIGKILL leaves none, and torchrun exits with 1', async ({ expect }) => {
    const folder = await aFolder()
    const config = join(folder, 'config.json')
    await writeFile(config, JSON.stringify({ fault: 'sigkill', fault_rank: 1 }))
    const faulty = join(FIXTURES, 'trainers', 'faulty.py')
    const { end, log } = await run(
      torchrun(folder, faulty, '--config', config, '--out', join(folder, 'out'), '--seed', '1'),
    )
    expect(end).toMatchObject({ status: 'exited', exitCode: 1 })
    expect(log).toMatch(/Signal 9 \(SIGKILL\) received by PID/)
    expect(await readErrorFiles(folder)).toEqual([])
  })
})

test('the earliest failure comes first, the earliest written within one second', async () => {
  const errors = await readBack(recorded('B: b'), recorded('C: c'), recorded('A: a', { timestamp: '499' }))
  expect(errors.map(({ rank, timestamp }) => [rank, timestamp])).toEqual([
    [2, 499],
    [0, 500],
    [1, 500],
  ])
})

test('what the trainer says itself wins over the name of the exception and of the folder', async () => {
  const extraInfo = { timestamp: '500', cause: 'diverged', step: 12, rank: 9 }
  expect(await readBack(recorded('RuntimeError: x', extraInfo))).toEqual([
    { rank: 9, cause: 'diverged', message: 'RuntimeError: x', step: 12, timestamp: 500 },
  ])
})

test.each<[string, RankError['cause']]>([
  ['OutOfMemoryError: CUDA out of memory. Tried to allocate 20 MiB', 'out-of-memory'],
  ['RuntimeError: CUDA out of memory.', 'out-of-memory'],
  ["RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried", 'out-of-memory'],
  ['MemoryError: ', 'out-of-memory'],
  ['FloatingPointError: loss is nan', 'diverged'],
  ['ValueError: read FloatingPointError in a file', 'error'],
  ['', 'error'],
])('%j has the cause %s', async (message, cause) => {
  expect(await readBack(recorded(message))).toMatchObject([{ cause }])
})

test('a message that is plain text is read too', async () => {
  expect(await readBack({ message: 'std::bad_alloc', timestamp: 7 })).toEqual([
    { rank: 0, cause: 'out-of-memory', message: 'std::bad_alloc', step: null, timestamp: 7 },
  ])
})

test('of a message that holds a traceback its last exception is told, and where one without a text was raised', async () => {
  const worker =
    'KeyError: Caught KeyError in worker 0.\nOriginal Traceback (most recent call last):\n  File "x", line 1, in f\nKeyError: \'y\'\n'
  const traceback =
    'Traceback (most recent call last):\n  File "t.py", line 3, in g\n    assert a\nAssertionError\n'
  expect(
    await readBack(recorded(worker), recorded('AssertionError: ', { py_callstack: traceback })),
  ).toMatchObject([
    { message: "KeyError: 'y'" },
    { message: 'AssertionError', location: 't.py, line 3, in g: assert a' },
  ])
})

test.each([
  ['cut', '{"message": {"mess'],
  ['of another shape', { message: { text: 1 } }],
  ['no object', 'null'],
  ['binary', '\u0000\ufffd\u0001'],
  ['nested beyond reason', '['.repeat(500_000)],
])('a file that is %s still says that the rank failed', async (_, content) => {
  expect(await readBack(content)).toEqual([
    { rank: 0, cause: 'error', message: 'its error file cannot be read', step: null, timestamp: 1000 },
  ])
})

test('a file that is empty says so, for that is what a full disk leaves', async () => {
  expect(await readBack('')).toMatchObject([
    { rank: 0, message: expect.stringMatching(/empty.*disk is full/) },
  ])
})

test('details of the wrong type are as good as absent', async () => {
  const extraInfo = { timestamp: null, cause: 'sabotage', step: -1, rank: null }
  expect(await readBack(recorded('A: a', extraInfo))).toEqual([
    { rank: 0, cause: 'error', message: 'A: a', step: null, timestamp: 1000 },
  ])
})

test('a file of many megabytes is not read', async () => {
  expect(await readBack(recorded('x'.repeat(2 * 1024 ** 2)))).toMatchObject([
    { message: 'its error file is too large' },
  ])
})

test('the message is one line, capped, without control characters or runner commands', async () => {
  const [error] = await readBack(recorded(`A: \u001b[31mred\n##[error]${'x'.repeat(3000)}`))
  expect(error?.message).toMatch(/^A: red # #\[error\]x+ …$/)
  expect(error?.message.length).toBe(502)
})

test('links, pipes and folders by that name are passed over', async () => {
  const folder = await aFolder()
  for (const name of ['link', 'pipe', 'folder']) await mkdir(join(folder, name))
  await writeFile(join(folder, 'elsewhere'), JSON.stringify(recorded('A: a')))
  await symlink(join(folder, 'elsewhere'), join(folder, 'link', 'error.json'))
  execFileSync('mkfifo', [join(folder, 'pipe', 'error.json')])
  await mkdir(join(folder, 'folder', 'error.json'))
  await symlink(folder, join(folder, 'loop'))
  expect(await readErrorFiles(folder)).toEqual([])
})

test('no folder, no errors', async () => {
  expect(await readErrorFiles('/no/such/folder')).toEqual([])
})
