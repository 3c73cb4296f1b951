// What init writes for a script of each framework, from its text alone.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseExperiment } from '../../src/config/parse-experiment.ts'
import { ConfigError } from '../../src/errors.ts'
import { type Choices, experimentText, missingOf } from '../../src/init/experiment-text.ts'
import { FRAMEWORKS, frameworkOf, imports } from '../../src/init/frameworks.ts'
import { nextLines } from '../../src/init/next-lines.ts'
import { scriptWords } from '../../src/init/script-words.ts'
import { parseSwitch } from '../../src/init/switches.ts'
import { workflowText } from '../../src/init/workflow-text.ts'

const EXAMPLES = join(import.meta.dirname, '../../examples')
const read = (path: string) => readFileSync(join(EXAMPLES, path), 'utf8')
const FOLDERS = { ...Object.fromEntries(FRAMEWORKS.map((name) => [name, name])), plain: 'plain-loop' }
const EACH = Object.entries(FOLDERS).map(([name, folder]) => [name, `${folder}/train.py`] as const)

const choicesOf = (source: string, difference: Partial<Choices> = {}): Choices => ({
  ...{ name: 'my-change', script: 'train.py', source, framework: frameworkOf(source), python: 'python3' },
  ...{ processes: 1, switches: [], samplesPerStep: null, ...difference },
})
const experimentOf = (choices: Choices) => parseExperiment(experimentText(choices), 'x.yaml')
const wordsAfterScript = (choices: Choices) =>
  experimentOf(choices).launch.command?.join(' ').split('train.py ')[1]

test.each(EACH)('the %s example is told by its imports', (name, script) => {
  expect(frameworkOf(read(script))).toBe(name)
})

test.each([
  ['import torch\nfrom transformers import AutoModel\nfrom accelerate import Accelerator\n', 'accelerate'],
  ['import lightning.pytorch as pl\n', 'lightning'],
  ['import os, pytorch_lightning\n', 'lightning'],
  ['import hydra\nimport lightning\n', 'hydra'],
  ['# import lightning\nfrom accelerated import x\n', 'plain'],
  ['def main():\n    from trl import SFTTrainer\n', 'hugging-face'],
])('%j is %s', (source, framework) => {
  expect(frameworkOf(source)).toBe(framework)
})

test('an import is of a whole first name', () => {
  expect(imports('from .hydra import x\nimport hydrate as hydra', 'hydra')).toBe(false)
})

describe.each(EACH)('for the %s example', (_, script) => {
  const switches = [parseSwitch('a.fast=false:true'), parseSwitch('other=1:2')]

  test.each([
    ['a switch', { switches }],
    ['a change in the code', {}],
    [
      'several processes and a long path',
      { processes: 4, switches, script: `${'folder, or so/'.repeat(9)}train.py` },
    ],
  ])('an experiment with %s is valid and has at most 25 lines', (_name, difference) => {
    const choices = choicesOf(read(script), difference)
    const experiment = experimentOf(choices)
    expect(experimentText(choices).trimEnd().split('\n').length).toBeLessThanOrEqual(25)
    expect(experiment.launch.command).toContain(choices.script)
    expect(experiment.launch.nproc_per_node).toBe(choices.processes)
    expect(experiment.metrics.format).toBe('recorder')
  })

  test('values reach the trainer as they are typed', () => {
    const { variants, trainer } = experimentOf(choicesOf(read(script), { switches }))
    expect(variants.baseline.set).toEqual({ 'a.fast': 'false', other: '1' })
    expect(variants.optimized.set).toEqual({ 'a.fast': 'true', other: '2' })
    expect(trainer.speed_keys).toEqual(['a.fast', 'other'])
  })
})

test.each([
  ['hugging-face', '--output_dir {out} --seed {seed}'],
  ['lightning', '--out {out} --seed {seed}'],
  ['accelerate', '--seed {seed}'],
  ['plain-loop', '--out_dir={out} --seed={seed}'],
  ['hydra', 'hydra.run.dir={out} seed={seed}'],
])('the script of %s gets %s', (folder, words) => {
  expect(wordsAfterScript(choicesOf(read(`${folder}/train.py`)))).toBe(words)
})

test('a Lightning command line is told what it knows', () => {
  const source = 'from lightning.pytorch.cli import LightningCLI\nLightningCLI(Model)\n'
  expect(scriptWords(source, frameworkOf(source))).toMatchObject({
    words: ['fit', '--trainer.default_root_dir={out}', '--seed_everything={seed}'],
    missing: [],
  })
})

test('what no argument was found for is said', () => {
  const source = 'parser.add_argument("--output-dir")\n'
  expect(scriptWords(source, 'plain').words).toEqual(['--output-dir', '{out}'])
  expect(missingOf(choicesOf(source))).toEqual([expect.stringContaining('{seed}')])
  expect(missingOf(choicesOf(''))).toHaveLength(2)
})

test('what replaces the config of accelerate is said', () => {
  const choices = choicesOf('from accelerate import Accelerator\n')
  const { command = [] } = experimentOf(choices).launch
  const replacing = command.slice(command.indexOf('--mixed_precision'), command.indexOf('train.py')).join(' ')
  expect(replacing).toBe('--mixed_precision no --dynamo_backend no')
  expect(missingOf(choices)).toContainEqual(expect.stringMatching(`${replacing}.*accelerate config`))
  expect(missingOf(choicesOf('import torch\n')).join()).not.toContain('accelerate')
})

test('the interpreter of the runner has to be named', () => {
  const lines = nextLines({ experimentFile: 'x.yaml', workflowFile: 'w.yml', labels: ['gpu'], base: null })
  expect(lines).toContainEqual(expect.stringMatching(/python: .* w\.yml .*runner/))
})

test('a change in the code compares with the merge base', () => {
  const { kind, variants } = experimentOf(choicesOf(''))
  expect([kind, variants.baseline.revision, variants.optimized.revision]).toEqual([
    'regression',
    'merge-base',
    undefined,
  ])
})

test.each(['fast', 'fast=1', 'fast=1:', '=1:2', 'fast=1:2:3'])('--switch %s is refused', (text) => {
  expect(() => parseSwitch(text)).toThrow(ConfigError)
})

test('the workflow is the example with experiment and labels in it, and keeps the interpreter of a runner', () => {
  const example = read('workflows/gpu-on-label.yml')
  const { python } = parse(example).jobs.report.with
  const text = workflowText(example, {
    experimentFile: 'configs/experiments/x.yaml',
    labels: ['self-hosted', 'h100'],
  })
  const { jobs } = parse(text)
  const inputs = { experiment: 'configs/experiments/x.yaml', python }
  expect(jobs.measure['runs-on']).toEqual(['self-hosted', 'h100'])
  expect(jobs.measure.steps.at(-1).with).toMatchObject(inputs)
  expect(jobs.report.with).toEqual(inputs)
})

test('an example that lacks a place is no template', () => {
  expect(() => workflowText('', { experimentFile: 'x', labels: [] })).toThrow()
})

test('the README shows what it writes for a Hugging Face script', () => {
  const [, shown = ''] = read('../README.md').split(/^```yaml\n(# configs\/experiments.*?)^```/ms)
  const choices = choicesOf(read('hugging-face/train.py'), {
    switches: [parseSwitch('torch_compile=false:true')],
    python: '.venv/bin/python',
  })
  expect(parse(shown)).toEqual(parse(experimentText(choices)))
})
