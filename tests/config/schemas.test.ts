// The JSON Schemas of editors and of the Python tests are made from the zod sources, and agree with them.
import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { parseYaml } from '../../src/config/parse/yaml.ts'
import { metricsEvents } from '../fixtures/builders.ts'

const ROOT = join(import.meta.dirname, '../..')
const textOf = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const validatorOf = (name: string) =>
  new Ajv2020({ strict: true, strictTypes: false }).compile(JSON.parse(textOf(`schemas/${name}.schema.json`)))

test('the committed schemas are what the script makes of the sources', () => {
  const folder = mkdtempSync(join(tmpdir(), 'speedproof-test-'))
  try {
    execFileSync(process.execPath, [join(ROOT, 'scripts/generate-schemas.ts')], { cwd: folder })
    const made = globSync('schemas/*.json', { cwd: folder })
    expect(made.toSorted()).toEqual(globSync('schemas/*.json', { cwd: ROOT }).toSorted())
    for (const file of made) expect(textOf(file)).toBe(readFileSync(join(folder, file), 'utf8'))
  } finally {
    rmSync(folder, { recursive: true })
  }
})

describe('the schema of experiments', () => {
  const validate = validatorOf('experiment')
  const files = globSync(['configs/experiments/*.yaml', 'examples/**/experiment.yaml'], { cwd: ROOT })

  test.each(files)('accepts %s', (file) => {
    expect(validate(parseYaml(textOf(file), file)), JSON.stringify(validate.errors)).toBe(true)
  })

  const valid = {
    name: 'x',
    kind: 'same-work',
    trainer: { module: 'trainer' },
    variants: { baseline: { config: 'a.yaml' }, optimized: { config: 'b.yaml' } },
  }

  test('accepts what has a default to be left out', () => {
    expect(validate(valid)).toBe(true)
  })

  test.each([
    ['an unknown key', { colour: 'red' }],
    ['an unknown kind', { kind: 'fair' }],
    ['no variants', { variants: {} }],
    ['too many blocks', { design: { blocks: 65 } }],
    ['a number as text', { design: { blocks: '4' } }],
    ['an unknown metric', { gates: { mine: { metric: 'loss', statistic: 'ratio', at_most: 1 } } }],
    ['a gate with a name of its own style', { gates: { 'My gate': { below: 1 } } }],
  ])('refuses %s', (_, difference) => {
    expect(validate({ ...valid, ...difference })).toBe(false)
  })
})

describe('the schema of metrics events', () => {
  const validate = validatorOf('metrics')

  test('accepts every event of a whole run, with a key of a newer trainer', () => {
    for (const event of metricsEvents()) expect(validate({ ...event, colour: 'red' })).toBe(true)
  })

  test.each([
    ['an unknown event', { event: 'eval' }],
    ['a missing number', { event: 'evaluation', step: 1, samples_seen: 16 }],
    ['a step that took no time', { event: 'steps', first_step: 1, step_seconds: [0], samples: [1] }],
    ['null for a number', { event: 'evaluation', step: 1, samples_seen: 16, val_loss: null }],
  ])('refuses %s', (_, event) => {
    expect(validate(event)).toBe(false)
  })
})
