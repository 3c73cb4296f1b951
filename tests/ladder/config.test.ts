// The rungs of an experiment file, and what --set gives.
import { expect, test } from 'vitest'
import { parseSetFlags } from '../../src/config/overrides/set-flags.ts'
import { parseExperiment } from '../../src/config/parse-experiment.ts'
import { refusal } from '../fixtures/refusal.ts'

const EXPERIMENT = `
name: x
kind: same-work
trainer: { module: trainer }
variants: { baseline: { config: a }, optimized: { config: b } }
`

const withRungs = (...rungs: string[]) =>
  parseExperiment(
    `${EXPERIMENT}ladder: { rungs: [${rungs.map((rung) => `{ ${rung} }`).join(', ')}] }`,
    'x.yaml',
  )

test('an experiment has no ladder unless it names one', () => {
  expect(parseExperiment(EXPERIMENT, 'x.yaml').ladder).toBeUndefined()
})

test('a rung needs nothing, replaces nothing and takes the place that it is listed at', () => {
  const { ladder } = withRungs(
    'name: compile, set: { speed.compile: blocks }',
    'name: nccl, set: { speed.nccl: [A=1, B=2] }',
  )
  expect(ladder).toEqual({
    set: {},
    baseline_every: 4,
    rungs: [
      { name: 'compile', set: { 'speed.compile': 'blocks' }, needs: [], replaces: [] },
      { name: 'nccl', set: { 'speed.nccl': ['A=1', 'B=2'] }, needs: [], replaces: [] },
    ],
  })
})

test.each([
  [
    'two of one name',
    ['name: a, set: { k: 1 }', 'name: a, set: { k: 2 }'],
    'x.yaml: ladder.rungs: a: two rungs have this name',
  ],
  [
    'one that sets nothing',
    ['name: a, set: {}'],
    'x.yaml: ladder.rungs: a.set: got {}, expected at least one setting',
  ],
  [
    'one that needs a later one',
    ['name: a, set: { k: 1 }', 'name: b, set: { k: 2 }, needs: [c]', 'name: c, set: { k: 3 }'],
    'x.yaml: ladder.rungs: b.needs: got "c", expected one of the earlier rungs: a',
  ],
  [
    'a first one that replaces another',
    ['name: a, set: { k: 1 }, replaces: [b]'],
    'x.yaml: ladder.rungs: a.replaces: got "b", expected an empty list',
  ],
  [
    'a name with a blank',
    ['name: a b, set: { k: 1 }'],
    'got "a b", expected lowercase letters, digits and -',
  ],
])('a ladder with %s is refused', (_, rungs, message) => {
  expect(refusal(() => withRungs(...rungs))).toContain(message)
})

test('--set is read as YAML', () => {
  expect(parseSetFlags(['train.updates=60', 'speed.compile=blocks', 'speed.nccl=[A=1]', 'a=b=c'])).toEqual({
    'train.updates': 60,
    'speed.compile': 'blocks',
    'speed.nccl': ['A=1'],
    a: 'b=c',
  })
})

test.each([
  ['train.updates', '--set: got "train.updates", expected KEY=VALUE such as train.updates=60'],
  ['__proto__=1', '--set: __proto__: unknown key'],
  ['=60', '--set: got "=60", expected KEY=VALUE such as train.updates=60'],
])('--set %s is refused', (text, message) => {
  expect(refusal(() => parseSetFlags([text]))).toContain(message)
})
