// The inputs of action.yml and the inputs that are read are the same, and only action.yml has defaults.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { INPUT_NAMES, parseActionInputs } from '../../../src/config/overrides/action-inputs.ts'
import { refusal } from '../../fixtures/refusal.ts'

const actionFile = z.object({
  inputs: z.record(
    z.string(),
    z.object({ description: z.string(), default: z.string().optional(), required: z.boolean().optional() }),
  ),
})
const { inputs } = actionFile.parse(
  parse(readFileSync(join(import.meta.dirname, '../../../action.yml'), 'utf8')),
)
const defaults = Object.fromEntries(
  Object.entries(inputs).map(([name, input]) => [name, input.default ?? '']),
)

describe('action.yml', () => {
  test('declares exactly the inputs that are read', () => {
    expect(Object.keys(inputs).toSorted()).toEqual([...INPUT_NAMES].toSorted())
  })

  test('gives every input a default, but the experiment, which is required', () => {
    const without = Object.entries(inputs).filter(([, input]) => input.default === undefined)
    expect(without.map(([name, input]) => [name, input.required])).toEqual([['experiment', true]])
  })
})

describe('action inputs', () => {
  test('name one experiment on each line', () => {
    const raw = { ...defaults, experiment: '\n  a.yaml\n\n  b.yaml  \n' }
    expect(parseActionInputs(raw)).toMatchObject({ experimentFiles: ['a.yaml', 'b.yaml'] })
    expect(
      refusal(() => parseActionInputs({ ...raw, job: 'report', 'github-token': 't' })),
    ).toMatchInlineSnapshot(
      `"experiment: got 2 lines, expected one: a report job judges one experiment. Measure each in its own job, or with report: direct"`,
    )
  })

  test('need nothing but an experiment beside the defaults', () => {
    expect(parseActionInputs({ ...defaults, experiment: ' x.yaml ', 'github-token': 't' })).toEqual({
      job: 'measure',
      experimentFiles: ['x.yaml'],
      workingDirectory: '.',
      outDirectory: 'out',
      report: 'direct',
      token: 't',
      artifactName: '',
      leg: '',
      noiseFloorFolder: null,
      overrides: {},
    })
  })

  test('carry the overrides', () => {
    const raw = { ...defaults, experiment: 'x.yaml', blocks: '6', 'max-loss-delta': '1e-3' }
    expect(parseActionInputs(raw).overrides).toEqual({ blocks: 6, 'max-loss-delta': 0.001 })
  })

  test('upload nothing when artifact-name is none', () => {
    const raw = { ...defaults, experiment: 'x.yaml', 'artifact-name': 'none' }
    expect(parseActionInputs(raw)).toMatchObject({ artifactName: null })
  })

  test('have no default of their own', () => {
    const none = {
      job: 'measure',
      experiment: 'x.yaml',
      'working-directory': '.',
      out: 'out',
      report: 'artifact',
    }
    expect(parseActionInputs(none)).toMatchObject({ token: '', artifactName: '', overrides: {} })
    for (const name of Object.keys(none))
      expect(refusal(() => parseActionInputs({ ...none, [name]: '' }))).toMatch(`${name}: `)
  })

  test('name input, value and remedy when they are wrong', () => {
    expect(refusal(() => parseActionInputs(defaults))).toMatchInlineSnapshot(
      `"experiment: missing; expected a value such as configs/experiments/smoke.yaml"`,
    )
    expect(
      refusal(() => parseActionInputs({ ...defaults, experiment: 'x.yaml', report: 'Direct' })),
    ).toMatchInlineSnapshot(`"report: got "Direct", expected direct or artifact"`)
    expect(
      refusal(() => parseActionInputs({ ...defaults, experiment: 'x.yaml', out: ' ' })),
    ).toMatchInlineSnapshot(`"out: missing; expected a value such as out"`)
  })

  test('of a report need a token and a commit that is whole', () => {
    const raw = { ...defaults, job: 'report', experiment: 'x.yaml', 'github-token': 't' }
    expect(parseActionInputs(raw)).toMatchObject({ job: 'report', measureJob: 'measure', headSha: null })
    expect(refusal(() => parseActionInputs({ ...raw, 'github-token': '' }))).toMatch('github-token: missing')
    expect(refusal(() => parseActionInputs({ ...raw, 'head-sha': 'a1b2c3d' }))).toMatchInlineSnapshot(
      `"head-sha: got "a1b2c3d", expected the 40 hexadecimal digits of a commit"`,
    )
    expect(refusal(() => parseActionInputs({ ...raw, 'artifact-name': 'none' }))).toMatch(
      'artifact-name: got "none", but job report reads an artifact',
    )
  })
})
