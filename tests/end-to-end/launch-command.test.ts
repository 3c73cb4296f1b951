// A trainer that is started by its own command and takes flags: planned, run, judged, and refused where it cannot start.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { anExperiment, EXPERIMENT_FILE, TRAINERS } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { aFolder, PYTHON } from '../fixtures/processes/launching.ts'
import { speedproof } from '../harness/command-line.ts'

type Keys = Readonly<Record<string, unknown>>

const WORDS = ['{python}', join(TRAINERS, 'flags.py'), '{arguments}', '--out_dir={out}', '--seed={seed}']

interface Changes {
  readonly trainer?: Keys
  readonly launch?: Keys
  readonly baseline?: Keys
  readonly optimized?: Keys
}

async function byFlags(changes: Changes = {}): Promise<string> {
  const folder = await aFolder()
  const experiment = {
    name: 'flags',
    kind: 'same-work',
    trainer: { arguments: '--{key}={value}', speed_keys: ['fast'], ...changes.trainer },
    launch: { python: PYTHON, command: WORDS, ...changes.launch },
    variants: { baseline: { ...changes.baseline }, optimized: { set: { fast: true }, ...changes.optimized } },
    design: { blocks: 1, warm_up_launches: 0 },
    gates: { speedup: { at_least: 3, evidence: 'point' } },
  }
  await writeFile(join(folder, EXPERIMENT_FILE), stringify(experiment))
  return folder
}

it('a plain Python trainer with flags and no config file passes', async () => {
  const folder = await byFlags()
  const planned = await speedproof(folder, 'plan', EXPERIMENT_FILE)
  expect(planned.stdout).toContain('flags.py --fast=True --out_dir=')
  const ran = await speedproof(folder, 'run', EXPERIMENT_FILE)
  const { verdict, outcomes } = await readResult(folder)
  expect(outcomes.map(({ status, message }) => message ?? status)).toEqual(['finished', 'finished'])
  expect([verdict.verdict, ran.exitCode]).toEqual(['passed', 0])
  expect(await readdir(join(folder, 'out', 'runs', '01-block-1-baseline'))).not.toContain('config.json')
  const report = await readFile(join(folder, 'out', 'report.md'), 'utf8')
  expect(report).toContain('change only speed, so that they may differ: fast')
  expect((await speedproof(folder, 'analyze', 'out/result.json')).exitCode).toBe(0)
})

it('a number is a flag as the experiment writes it', async () => {
  const folder = await byFlags({ trainer: { speed_keys: ['fast', 'dropout'] } })
  const file = join(folder, EXPERIMENT_FILE)
  const experiment = await readFile(file, 'utf8')
  await writeFile(file, experiment.replace(/( +)fast: true/, '$&\n$1dropout: 0.0'))
  const planned = await speedproof(folder, 'plan', EXPERIMENT_FILE)
  expect(planned.stdout).toContain('flags.py --fast=True --dropout=0.0 --out_dir=')
})

it('a setting that is no speed key is refused before a launch', async () => {
  const { exitCode, stderr } = await speedproof(
    await byFlags({ optimized: { set: { fast: true, steps: 30 } } }),
    ...['plan', EXPERIMENT_FILE],
  )
  expect(exitCode).toBe(2)
  expect(stderr).toContain('may differ only under speed: and fast, but these differ: steps')
})

it.each([
  ['a launcher', ['no-such-launcher', 'x'], 'launch.command: got "no-such-launcher", which is not on PATH'],
  ['a path', ['./none', 'x'], 'launch.command: got "./none", which is no program in '],
  ['a script', ['{python}', 'none.py'], 'launch.command: got "none.py", which does not exist in '],
  ['a module', ['{python}', '-m', 'json.none'], 'launch.command: got "json.none", which "'],
  [
    'a package',
    ['{python}', '-m', 'json'],
    'launch.command: got "json", which is a package without __main__.py',
  ],
])('%s that does not exist is refused before a launch', async (_, command, message) => {
  const folder = await byFlags({ launch: { command } })
  const { exitCode, stderr } = await speedproof(folder, 'plan', EXPERIMENT_FILE)
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)])
})

it('so is a trainer.module, which is not imported', async () => {
  const folder = await anExperiment({ trainer: { script: undefined, module: 'own.train' } })
  const planned = () => speedproof(folder, 'plan', EXPERIMENT_FILE)
  expect((await planned()).stderr).toContain('trainer.module: got "own.train", which "')
  await mkdir(join(folder, 'own'))
  await writeFile(join(folder, 'own', '__init__.py'), 'raise RuntimeError("imported")\n')
  await writeFile(join(folder, 'own', 'train.py'), '')
  expect(await planned()).toMatchObject({ exitCode: 0 })
})

it('an unknown key under speed: is noted before a launch', async () => {
  const folder = await anExperiment()
  const file = join(folder, EXPERIMENT_FILE)
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace('config: optimized.yaml', '$&\n    set: { speed.step_secnds: 0.001 }'))
  const { exitCode, stdout, stderr } = await speedproof(folder, 'plan', EXPERIMENT_FILE)
  expect(exitCode).toBe(0)
  expect(stdout + stderr).toMatch(
    /variants\.optimized\.set: speed\.step_secnds is not in optimized\.yaml\. The closest key there is step_seconds/,
  )
})

it('a config in a format that is not read is copied byte by byte, and cannot be set', async () => {
  const command = WORDS.map((word) => (word === '{arguments}' ? '{config}' : word))
  const trainer = { arguments: undefined }
  const planOf = async (set: Keys) => {
    const variants = { baseline: { config: 'train.py', set }, optimized: { config: 'train.py', set } }
    const folder = await byFlags({ trainer, launch: { command }, ...variants })
    await writeFile(join(folder, 'train.py'), Buffer.from([0x61, 0xff, 0x0a]))
    return await speedproof(folder, 'plan', EXPERIMENT_FILE, '--mode', 'aa', '--blocks', '5')
  }
  expect((await planOf({})).stdout).toContain('/config.py ')
  const refused = await planOf({ a: 1 })
  expect(refused.exitCode).toBe(2)
  expect(refused.stderr).toMatch(
    /variants\.baseline\.set: cannot be written into train\.py; only \.yaml, .*\.toml/,
  )
})
