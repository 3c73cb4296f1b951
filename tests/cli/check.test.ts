// speedproof check says all that is wrong with a metrics file at once, or what was found in it.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterEach, expect, test, vi } from 'vitest'
import { addCheck } from '../../src/cli/check.ts'
import { metricsLines } from '../fixtures/builders.ts'
import { aFolder } from '../fixtures/processes/launching.ts'

const LINES = metricsLines()
const EXPERIMENT = [
  'name: x',
  'kind: same-work',
  'trainer: { module: trainer }',
  'variants: { baseline: { config: a.yaml }, optimized: { config: b.yaml } }',
  'metrics: { format: jsonl, file: x.jsonl, keys: { step: n, step_seconds: dt, val_loss: loss } }',
].join('\n')

afterEach(() => {
  process.exitCode = undefined
  vi.restoreAllMocks()
})

/** What it prints for a file with this text, and the exit code. */
async function checked(text: string, ...flags: string[]) {
  const file = join(await aFolder(), 'metrics')
  await writeFile(file, text)
  return await check(file, ...flags)
}

async function check(...words: string[]) {
  const said = vi.spyOn(console, 'log').mockImplementation(() => {})
  const program = new Command().exitOverride()
  addCheck(program)
  await program.parseAsync(['node', 'speedproof', 'check', ...words])
  const lines = said.mock.calls.flatMap(([printed]) => String(printed).split('\n'))
  said.mockRestore()
  return { lines, exitCode: process.exitCode ?? 0 }
}

test('a whole file is told by what it holds', async () => {
  const { lines, exitCode } = await checked(LINES.join('\n'))
  expect(exitCode).toBe(0)
  expect(lines).toEqual([
    expect.stringMatching(/: no problem found, read as speedproof$/),
    expect.stringMatching(/^steps: 40, median 80.* ms$/),
    expect.stringMatching(/^evaluations: 1, the last after step 40: val_loss 0\.02/),
    'processes: 2',
    expect.stringMatching(/^known: step seconds \(reported\), samples \(reported\)/),
    expect.stringMatching(/^unknown: peak memory$/),
  ])
})

test('all problems are told at once, without those that follow from others', async () => {
  const changed = (index: number, change: object) =>
    JSON.stringify({ ...JSON.parse(LINES[index] ?? ''), ...change })
  const { lines, exitCode } = await checked(
    [
      changed(0, { seed: 'one', parameter_count: 0 }),
      changed(1, { first_step: 1, step_seconds: Array(20).fill(-1) }).replace('-1', '0.1'),
      LINES[2],
      '{"event": "evaluation", "st',
      changed(3, { val_loss: null }),
    ].join('\n'),
  )
  expect(exitCode).toBe(2)
  expect(lines[0]).toMatch(/: 10 problems, read as speedproof$/)
  expect(lines.slice(1)).toEqual([
    expect.stringMatching(/line 1: seed: got "one"/),
    expect.stringMatching(/line 1: parameter_count: got 0/),
    ...Array.from({ length: 5 }, (_, index) =>
      expect.stringContaining(`line 2: step_seconds.${index + 1}: got -1`),
    ),
    expect.stringMatching(/line 4: not valid JSON/),
    expect.stringMatching(/line 5: val_loss: got null.*diverged/),
    expect.stringMatching(/ends before run_end/),
  ])
})

test('of a file that is the same mistake in each line, the first are told', async () => {
  const { lines } = await checked(Array(1000).fill('step done').join('\n'))
  expect([lines.length, lines[0]]).toEqual([51, expect.stringMatching(/: the first 50 problems/)])
})

test('an experiment or a format says how to read it', async () => {
  const folder = await aFolder()
  await writeFile(join(folder, 'x.yaml'), EXPERIMENT)
  const rows = '{"n": 1, "dt": 0.5}\n{"n": 1, "loss": 2}\n'
  const { lines } = await checked(rows, '--experiment', join(folder, 'x.yaml'))
  expect(lines[0]).toMatch(/no problem found, read as jsonl/)
  expect(lines.at(-1)).toMatch(/^unknown: samples, held-out set/)
  const csv = await checked('step,val_loss\n0,2\n', '--format', 'lightning-csv')
  expect(csv.lines.slice(0, 2)).toEqual([
    expect.stringMatching(/no problem found, read as lightning-csv/),
    'steps: 1, without their durations',
  ])
})

test('a metrics file outside of a run lacks what the training printed', async () => {
  const folder = await aFolder()
  const patterns = "patterns: { evaluation: 'step (?<step>\\d+): (?<val_loss>\\S+)' }"
  const recorder = EXPERIMENT.replace(/metrics: .*/, `metrics: { format: recorder, ${patterns} }`)
  await writeFile(join(folder, 'x.yaml'), recorder)
  const run = join(folder, 'run')
  for (const part of ['trainer', 'source']) await mkdir(join(run, part), { recursive: true })
  const file = join(run, 'trainer', 'metrics.jsonl')
  await writeFile(file, LINES.filter((line) => !line.includes('"evaluation"')).join('\n'))
  const flags = ['--experiment', join(folder, 'x.yaml')]
  await expect(check(file, ...flags)).rejects.toThrow(
    /source\/printed\.txt: is missing.*metrics\.patterns.*Name the metrics\.jsonl in the folder of a run/,
  )
  await writeFile(join(run, 'source', 'printed.txt'), 'step 40: 0.5\n')
  expect((await check(file, ...flags)).lines[0]).toMatch(/no problem found, read as recorder/)
})

test('what cannot be read is refused with the way out', async () => {
  const folder = await aFolder()
  await mkdir(join(folder, 'empty'))
  await expect(check(join(folder, 'none'))).rejects.toThrow(/none: cannot be read/)
  await expect(check(folder)).rejects.toThrow(/is a folder/)
  await expect(checked('', '--format', 'csv')).rejects.toThrow(
    /--format: got csv, expected one of speedproof/,
  )
  await expect(checked('', '--format', 'log')).rejects.toThrow(/--format: log needs .*--experiment/)
  await expect(checked('', '--format', 'log', '--experiment', 'x')).rejects.toThrow(/Leave one of them out/)
  await expect(
    check(join(folder, 'empty'), '--format', 'wandb-offline', '--experiment', 'x'),
  ).rejects.toThrow(/Leave one of them out/)
})
