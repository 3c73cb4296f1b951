// Variants differ where their kind of experiment allows it, and nowhere else.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OPAQUE_FILE } from '../../../src/config/same-work/opaque-file.ts'
import { declaredDifferences, differencesOutside } from '../../../src/config/same-work/same-work.ts'
import { refusal } from '../../fixtures/refusal.ts'

const baseline = { batch: 512, model: { width: 64, kernel: [3, 3] }, speed: { compile: false } }

test('lists every difference by its dotted key, an absent one as null', () => {
  const optimized = { ...baseline, speed: { compile: true, fused: { adam: true } } }
  expect(declaredDifferences('same-work', { baseline, optimized })).toEqual([
    { key: 'speed.compile', baseline: false, optimized: true },
    { key: 'speed.fused', baseline: null, optimized: { adam: true } },
  ])
})

test('finds none in equal configs, whatever the order of their keys', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (config) => {
      const reversed = Object.fromEntries(Object.entries(config).reverse())
      expect(declaredDifferences('same-work', { baseline: config, optimized: reversed })).toEqual([])
    }),
  )
})

test('refuses a same-work experiment that differs outside speed', () => {
  const optimized = { ...baseline, batch: 1024, model: { width: 64 } }
  expect(refusal(() => declaredDifferences('same-work', { baseline, optimized }))).toMatchInlineSnapshot(
    `"variants: a same-work experiment may differ only under speed:, but these differ: batch (baseline 512, optimized 1024), model.kernel (baseline [3,3], optimized null). Make them equal, or move a deliberate change of the recipe under recipe: and set kind: recipe. If they change only speed and cannot stand under speed:, name them in trainer.speed_keys"`,
  )
})

test('allows a recipe experiment to differ under recipe and speed', () => {
  const optimized = { ...baseline, recipe: { batch_growth: 2 }, speed: { compile: true } }
  expect(declaredDifferences('recipe', { baseline, optimized }).map(({ key }) => key)).toEqual([
    'recipe',
    'speed.compile',
  ])
})

test('refuses a recipe experiment that differs elsewhere', () => {
  const optimized = { ...baseline, batch: 1024 }
  expect(refusal(() => declaredDifferences('recipe', { baseline, optimized }))).toMatchInlineSnapshot(
    `"variants: a recipe experiment may differ only under speed: and recipe:, but these differ: batch (baseline 512, optimized 1024). Make them equal. If they change only speed and cannot stand under speed:, name them in trainer.speed_keys"`,
  )
})

test('takes a section whose name has a dot for what it is', () => {
  const keys = differencesOutside('same-work', { 'speed.model': 1 }, { 'speed.model': 2 }).map(
    ({ key }) => key,
  )
  expect(keys).toEqual(['speed.model'])
})

test('takes speedy for another section than speed', () => {
  expect(differencesOutside('same-work', {}, { speedy: 1, speed: 2 }).map(({ key }) => key)).toEqual([
    'speedy',
  ])
})

test('keys that are named as speed keys may differ, others beside them may not', () => {
  const one = { bf16: false, trainer: { precision: 32, steps: 5 }, 'a.b': 1 }
  const other = { bf16: true, trainer: { precision: 16, steps: 5 }, 'a.b': 2 }
  const speedKeys = ['bf16', 'trainer.precision', '"a.b"']
  expect(differencesOutside('same-work', one, other, speedKeys)).toEqual([])
  expect(differencesOutside('same-work', {}, { trainer: { precision: 16 } }, speedKeys)).toEqual([])
  const more = { ...other, trainer: { precision: 16, steps: 6 } }
  expect(differencesOutside('same-work', one, more, speedKeys).map(({ key }) => key)).toEqual([
    'trainer.steps',
  ])
  expect(refusal(() => declaredDifferences('same-work', { baseline: one, optimized: other }))).toContain(
    'name them in trainer.speed_keys',
  )
})

test('config files that are not read may not differ', () => {
  const configs = { baseline: { [OPAQUE_FILE]: 'aa' }, optimized: { [OPAQUE_FILE]: 'bb' } }
  expect(refusal(() => declaredDifferences('recipe', configs, [OPAQUE_FILE]))).toContain('trainer.arguments')
})
