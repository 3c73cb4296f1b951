// Settings as words of a command line, for the three ways in which trainers take them.
import { describe, expect, test } from 'vitest'
import { flagsOf } from '../../../src/config/launch/flags.ts'
import { numberTextsOf, numberTextsOfFlags } from '../../../src/config/parse/number-texts.ts'

const SETTINGS = { bf16: true, 'optim.lr': 0.5, name: 'a b', sizes: [1, 2], '"a.b".c': false }

test('one word each: nanoGPT', () => {
  expect(flagsOf('--{key}={value}', SETTINGS)).toEqual([
    ...['--bf16=True', '--optim.lr=0.5', '--name=a b', '--sizes=[1,2]', '--a.b.c=False'],
  ])
})

test('two words each, and one for each item of a list: argparse and Hugging Face', () => {
  expect(flagsOf('--{key} {value}', SETTINGS)).toEqual([
    ...['--bf16', 'True', '--optim.lr', '0.5', '--name', 'a b', '--sizes', '1', '2', '--a.b.c', 'False'],
  ])
})

test('no dashes: hydra', () => {
  expect(flagsOf('{key}={value}', { 'model.size': 'large', layers: ['a', true, [1]] })).toEqual([
    ...['model.size=large', 'layers=["a",True,[1]]'],
  ])
})

test('a value is a word whatever is in it', () => {
  expect(flagsOf('{key}={value}', { a: '{key} $(x) "y"' })).toEqual(['a={key} $(x) "y"'])
})

describe('a number keeps the text that it was written with', () => {
  const experiment = [
    'common: &common { dropout: 0.0 }',
    'design: { seed: 1, warm_up_set: { epochs: 2.0 } }',
    'variants:',
    '  baseline: { set: { <<: *common, lr: 1e-4, sizes: [1.0, [2, .5]], 3: 1.50, seed: 1.0 } }',
    '  optimized: { set: { mask: 0x10 } }',
    'ladder: { rungs: [{ name: a, set: { warmup: 5e-0 } }] }',
  ].join('\n')
  const texts = numberTextsOf(experiment)

  test.each([
    [{ dropout: 0 }, '--dropout=0.0'],
    [{ lr: 1e-4 }, '--lr=1e-4'],
    [{ sizes: [1, [2, 0.5]] }, '--sizes=[1.0,[2,.5]]'],
    [{ '3': 1.5 }, '--3=1.50'],
    [{ epochs: 2 }, '--epochs=2.0'],
    [{ warmup: 5 }, '--warmup=5e-0'],
    [{ seed: 1 }, '--seed=1.0'],
    // Written otherwise, or under no set.
    [{ lr: 0.5, blocks: 4 }, '--lr=0.5 --blocks=4'],
    [{ mask: 16 }, '--mask=16'],
  ])('%o is %s', (settings, flags) => {
    expect(flagsOf('--{key}={value}', settings, texts).join(' ')).toBe(flags)
  })

  test('in the flags of a ladder too', () => {
    expect(flagsOf('{key}={value}', { lr: 1 }, numberTextsOfFlags(['lr=1.0', 'a=b=c']))).toEqual(['lr=1.0'])
  })
})
