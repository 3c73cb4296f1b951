// Settings as words of a command line, for the three ways in which trainers take them.
import { expect, test } from 'vitest'
import { flagsOf } from '../../../src/config/launch/flags.ts'

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
