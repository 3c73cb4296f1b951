// After a launch, its source gets a name of ours, whatever the training has put into its folder.
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readRunMetrics } from '../../../src/io/load/read-run-files.ts'
import { collectSource } from '../../../src/io/source/collect.ts'
import { aFolder, notCancelled, PYTHON, ROOT } from '../../fixtures/processes/launching.ts'
import { theReader } from '../../fixtures/sources.ts'

const JSONL = {
  format: 'jsonl',
  file: 'train.jsonl',
  keys: { step: 'step', step_seconds: 'dt', val_loss: 'eval' },
  samples_per_step: 8,
}
const ROWS = '{"step": 1, "dt": 0.5}\n{"step": 1, "eval": 2}\n'

/** What is read of a run that left these files in its folder. */
async function collected(
  section: object,
  files: Readonly<Record<string, string | Uint8Array>>,
  prepare: (folder: string) => Promise<void> = async () => {},
) {
  const folder = await aFolder()
  await mkdir(join(folder, 'trainer'))
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
  await prepare(folder)
  const reader = theReader(section)
  const stands = join(ROOT, 'tests/fixtures/stand-ins')
  await collectSource(
    reader,
    folder,
    { status: 'exited', exitCode: 0, wallSeconds: 1 },
    {
      python: PYTHON,
      workingDirectory: folder,
      environment: { PATH: process.env.PATH ?? '', PYTHONPATH: stands },
      cancelled: notCancelled(),
    },
  )
  return { folder, reader, record: await readRunMetrics(folder, reader) }
}
const problemOf = async (...request: Parameters<typeof collected>) =>
  (await collected(...request)).record.problem?.message

describe('a file', () => {
  test('is copied to where it is read, and read again from there alone', async () => {
    const { folder, reader, record } = await collected(JSONL, { 'trainer/train.jsonl': ROWS })
    expect(record).toMatchObject({ problem: null, steps: { seconds: [0.5] }, evaluations: [{ val_loss: 2 }] })
    expect(await readFile(join(folder, reader.files[0]), 'utf8')).toBe(ROWS)
  })

  test('is found by a path with wildcards', async () => {
    const found = { 'trainer/logs/version_0/x.jsonl': ROWS, 'trainer/logs/other.txt': '' }
    for (const file of ['logs/*/x.jsonl', '**/x.jsonl', 'logs/version_*/*.jsonl', '**/*.jsonl'])
      expect((await collected({ ...JSONL, file }, found)).record.problem).toBeNull()
    for (const file of ['*/x.jsonl', '**/y*.jsonl', 'logs/*x.jsonl'])
      expect(await problemOf({ ...JSONL, file }, found)).toMatch(/is missing.*metrics\.file/)
  })

  test('that is not the only one is refused with the names of all', async () => {
    const found = { 'trainer/a/x.jsonl': ROWS, 'trainer/b/x.jsonl': ROWS }
    expect(await problemOf({ ...JSONL, file: '*/x.jsonl' }, found)).toMatch(
      /2 files \(trainer\/a\/x\.jsonl, trainer\/b\/x\.jsonl\).*metrics\.file/,
    )
  })

  test('that is a link, a folder or too large is refused', async () => {
    const secret = join(await aFolder(), 'secret')
    await writeFile(secret, ROWS)
    const link = (folder: string) => symlink(secret, join(folder, 'trainer/train.jsonl'))
    expect(await problemOf(JSONL, {}, link)).toMatch(/is missing/)
    expect(await problemOf(JSONL, { 'trainer/train.jsonl/x': '' })).toMatch(/is missing/)
    const large = new Uint8Array(64 * 1024 * 1024 + 1)
    expect(await problemOf(JSONL, { 'trainer/train.jsonl': large })).toMatch(
      /67108865 bytes, expected at most/,
    )
  })

  test('that the training put where ours will be counts for nothing', async () => {
    expect(await problemOf(JSONL, { 'source/rows.jsonl': ROWS })).toMatch(/is missing/)
  })

  test('of what was printed is the log of the run', async () => {
    const section = {
      format: 'log',
      patterns: {
        step: 'step (?<step>\\d+) (?<step_seconds>\\S+)',
        evaluation: 'eval (?<step>\\d+) (?<val_loss>\\S+)',
      },
    }
    const { record } = await collected(section, { 'log.txt': 'step 1 0.5\neval 1 2.5\n' })
    expect(record).toMatchObject({ problem: null, evaluations: [{ val_loss: 2.5 }] })
  })

  test('of the last checkpoint is taken where there is no state of the whole run', async () => {
    const state = (steps: number) =>
      JSON.stringify({ global_step: steps, log_history: [{ step: steps, eval_loss: steps }] })
    const checkpoints = {
      'trainer/x/checkpoint-9/trainer_state.json': state(9),
      'trainer/x/checkpoint-10/trainer_state.json': state(10),
    }
    const lossOf = async (files: Record<string, string>) =>
      (await collected({ format: 'hugging-face' }, files)).record.evaluations[0]?.val_loss
    expect(await lossOf(checkpoints)).toBe(10)
    expect(await lossOf({ ...checkpoints, 'trainer/x/trainer_state.json': state(11) })).toBe(11)
  })
})

describe('event files of TensorBoard', () => {
  const scalar = (tag: string, step: number, wall_time: number, value: number) =>
    JSON.stringify({ tag, step, wall_time, value })
  const SECTION = { format: 'tensorboard', samples_per_step: 4 }

  test('are converted whole by the interpreter of the training', async () => {
    const rows = Array.from({ length: 10_500 }, (_, index) => scalar('train/loss', index + 1, index, 1))
    const events = [...rows, scalar('eval/loss', 10_500, 20_000, 0.5)].join('\n')
    const { record } = await collected(SECTION, { 'trainer/runs/a/events.out.tfevents.1.host': events })
    expect(record.problem).toBeNull()
    expect([record.steps.seconds.length, record.evaluations[0]?.val_loss]).toEqual([10_500, 0.5])
  })

  test('may have a number that is none where nobody reads it', async () => {
    const rows = [1, 2, 3].map((step) => scalar('train/loss', step, step, 1))
    const none = scalar('train/grad_norm', 2, 2, 0).replace('"value":0', '"value":NaN')
    const found = (loss: number) => ({
      'trainer/events.out.tfevents.1': [none, ...rows, scalar('eval/loss', 3, 9, loss)]
        .join('\n')
        .replace('null', '-Infinity'),
    })
    const { folder, reader, record } = await collected(SECTION, found(0.5))
    expect([record.problem, record.evaluations[0]?.val_loss]).toEqual([null, 0.5])
    for (const line of (await readFile(join(folder, reader.files[0]), 'utf8')).trim().split('\n'))
      expect(() => JSON.parse(line)).not.toThrow()
    expect(await problemOf(SECTION, found(Number.NaN))).toMatch(/val_loss .*diverged/)
  })

  test('that are not there are asked for', async () => {
    expect(await problemOf(SECTION, {})).toMatch(
      /tensorboard cannot be converted: .*no event file with scalars/,
    )
  })
})

describe('an offline run of wandb', () => {
  const SECTION = {
    format: 'wandb-offline',
    keys: { step: 'step', time: '_timestamp', train_loss: 'loss', val_loss: 'eval.loss' },
    samples_per_step: 4,
  }
  const PATH = 'trainer/wandb/offline-run-1/run-1.wandb'
  const rows = Array.from({ length: 2000 }, (_, index) => ({
    step: String(index + 1),
    loss: '0.5',
    _timestamp: String(100 + index / 2),
  }))
  const HISTORY = [...rows, { step: '2000', 'eval.loss': '0.25', _timestamp: '2000' }]

  test('is read over many blocks', async () => {
    const { record } = await collected(SECTION, { [PATH]: wandbFile(HISTORY) })
    expect(record.problem).toBeNull()
    expect([record.steps.seconds.length, record.steps.seconds[1999]]).toEqual([2000, 0.5])
    expect(record.evaluations).toMatchObject([{ step: 2000, samples_seen: 8000, val_loss: 0.25 }])
  })

  test('that is cut off, none, or one of several is told', async () => {
    const file = wandbFile(HISTORY)
    const told = (files: Record<string, Uint8Array>) => problemOf(SECTION, files)
    expect(await told({ [PATH]: file.subarray(0, file.length - 5) })).toMatch(
      /run-1\.wandb: is cut off.*finish/,
    )
    expect(await told({ [PATH]: new Uint8Array(99) })).toMatch(/run-1\.wandb: is no file of an offline run/)
    expect(await told({ [PATH]: wandbFile([]) })).toMatch(/has no history/)
    expect(await told({})).toMatch(/no file \*\.wandb.*WANDB_MODE=offline/)
    expect(await told({ [PATH]: file, 'trainer/b.wandb': file })).toMatch(/2 files/)
  })
})

/** As wandb writes it: values are JSON texts. A dot in a key stands for a nested one. */
function wandbFile(history: readonly Readonly<Record<string, string>>[]): Uint8Array {
  const text = (number: number, value: string) => field(number, Buffer.from(value))
  const entries = history.map((row) => {
    const items = Object.entries(row).map(([key, value]) => {
      const keys = key.includes('.') ? key.split('.').map((part) => text(2, part)) : [text(1, key)]
      return field(1, Buffer.concat([...keys, text(16, value)]))
    })
    return field(2, Buffer.concat(items))
  })
  const parts: Buffer[] = [Buffer.from([0x3a, 0x57, 0x26, 0x42, 0xe1, 0xbe, 0])]
  let position = 7
  const add = (part: Buffer) => {
    parts.push(part)
    position += part.length
  }
  for (const entry of entries) {
    for (let start = 0; start < entry.length || start === 0; ) {
      const left = 32768 - (position % 32768)
      if (left < 7) {
        add(Buffer.alloc(left))
        continue
      }
      const end = Math.min(entry.length, start + left - 7)
      const isFirst = start === 0
      const isLast = end === entry.length
      const header = Buffer.alloc(7)
      header.writeUInt16LE(end - start, 4)
      header.writeUInt8(isFirst && isLast ? 1 : isFirst ? 2 : isLast ? 4 : 3, 6)
      add(Buffer.concat([header, entry.subarray(start, end)]))
      if (isLast) break
      start = end
    }
  }
  return new Uint8Array(Buffer.concat(parts))
}

function field(number: number, data: Buffer): Buffer {
  return Buffer.concat([varint((number << 3) | 2), varint(data.length), data])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let rest = value; ; rest >>>= 7) {
    bytes.push(rest > 127 ? (rest & 127) | 128 : rest)
    if (rest <= 127) return Buffer.from(bytes)
  }
}
