// The command line of a run by launch.command, and what of it is watched.
import { expect, test } from 'vitest'
import { errorVariables, launchCommand } from '../../src/plan/command.ts'
import { programOf } from '../../src/plan/program.ts'
import { anExperiment, aPlannedRun, theRunFiles } from '../fixtures/builders.ts'

const files = theRunFiles('/my out/run')
const { launch } = anExperiment()
const byCommand = (...command: string[]) =>
  anExperiment({ trainer: {}, launch: { ...launch, nproc_per_node: 4, command } })
const wordsOf = (command: string[], flags: string[] = []) =>
  launchCommand(byCommand(...command), aPlannedRun({ seed: 3 }), files, '/venv/python', flags)

test('placeholders are filled in, also inside of a word, and no shell sees the words', () => {
  const words = [
    '{python}',
    '-m',
    'x',
    '--n={nproc}',
    '--seed={seed}',
    '{config}',
    '--out',
    '{out}',
    '{{a}}',
    '$HOME',
  ]
  expect(wordsOf(words)).toEqual([
    ...['/venv/python', '-m', 'x', '--n=4', '--seed=3', '/my out/run/config.json'],
    ...['--out', '/my out/run/trainer', '{a}', '$HOME'],
  ])
})

test('flags come at the end, or where {arguments} stands', () => {
  expect(wordsOf(['train', '--out={out}'], ['a=1', 'b=2']).slice(-2)).toEqual(['a=1', 'b=2'])
  expect(wordsOf(['train', '{arguments}', 'last'], ['a=1', 'b=2'])).toEqual(['train', 'a=1', 'b=2', 'last'])
  expect(wordsOf(['train', '{arguments}', 'last'])).toEqual(['train', 'last'])
})

test('the short form without a config has no --config, and gets its flags at the end', () => {
  const run = aPlannedRun({ seed: 3 })
  const command = launchCommand(anExperiment(), run, { ...files, configFile: null }, 'python3', ['a=1'])
  expect(command).not.toContain('--config')
  expect(command.slice(-3)).toEqual(['--seed', '3', 'a=1'])
})

test.each([
  [['{python}', 'src/train.py', '{config}', '--x=a.py'], { script: 'src/train.py' }],
  [['accelerate', 'launch', '--multi_gpu', 'train.py'], { script: 'train.py' }],
  [['{python}', '-m', 'torch.distributed.run', '-m', 'pkg.train', '{config}'], { module: 'pkg.train' }],
  [['torchtitan', '{config}'], {}],
])('of %j the sources that are watched are %j', (command, program) => {
  expect(programOf(byCommand(...command))).toEqual(program)
})

test('error files lie where the short form has them', () => {
  expect(Object.values(errorVariables(byCommand('x'), files))).toEqual([
    ...['/my out/run/errors', '/my out/run/errors/error.json'],
  ])
  expect(errorVariables(anExperiment(), files)).toEqual({})
})
