// result.json is read back strictly: what was asked for and seen, not what was concluded.
import { describe, expect, test } from 'vitest'
import { parseRecorded } from '../../src/record/result.ts'
import { aResult } from '../fixtures/builders.ts'
import { refusal } from '../fixtures/refusal.ts'

const result = await aResult()
const json: unknown = JSON.parse(JSON.stringify(result))
const refused = (change: object) => refusal(() => parseRecorded({ ...result, ...change }, 'result.json'))

describe('a result', () => {
  test('is read back as it was written', () => {
    const { experimentFile, experiment, configs, revision, launches } = result
    expect(parseRecorded(json, 'result.json')).toMatchObject({
      experimentFile,
      experiment,
      configs,
      revision,
      launches,
    })
  })

  test('without a key that it is written with is refused, not filled in', () => {
    const keys = [
      'untracked',
      'outDirectory',
      'sources',
      'environment',
      'noiseFloors',
      'reevaluation',
      'preflight',
    ]
    for (const key of keys) expect(refused({ [key]: undefined })).toContain(`${key}: missing`)
    const [launch] = result.launches
    for (const key of ['compileCache', 'code'])
      expect(refused({ launches: [{ ...launch, [key]: undefined }] })).toContain(`launches.0.${key}: missing`)
  })

  test('carries no verdict back: that is computed again', () => {
    expect(parseRecorded(json, 'result.json')).not.toHaveProperty('verdict')
    expect(parseRecorded(json, 'result.json')).not.toHaveProperty('runs')
  })

  test('of another version or shape is refused', () => {
    expect(refusal(() => parseRecorded(null, 'result.json'))).toMatchInlineSnapshot(
      `"result.json: the file: got null, expected a mapping"`,
    )
    expect(refused({ schemaVersion: 1 })).toMatchInlineSnapshot(
      `"result.json: schemaVersion: got 1, expected 2; an older release wrote it. Read it with that release, or measure again"`,
    )
    expect(refused({ schemaVersion: 99 })).toMatchInlineSnapshot(
      `"result.json: schemaVersion: got 99, expected 2; this release did not write it. Read it with a newer release"`,
    )
    expect(refused({ schemaVersion: undefined })).toContain('schemaVersion: missing')
    expect(refused({ launches: undefined })).toMatchInlineSnapshot(
      `"result.json: launches: missing; expected a list"`,
    )
    expect(
      refused({ launches: [{ ...result.launches[0], result: { status: 'fine' } }] }),
    ).toMatchInlineSnapshot(
      `"result.json: launches.0.result.status: got "fine", expected one of exited, signalled, timed-out, cancelled, not-started"`,
    )
  })

  test('with a launch twice is refused, and both are named', () => {
    const [first, second] = result.launches
    if (!first || !second) throw new Error('no launches')
    const again = { ...first, startedAt: '2026-11-20T13:00:00.000Z' }
    expect(refused({ launches: [first, second, again] })).toMatchInlineSnapshot(
      `"result.json: launches.0 (started "2026-11-20T12:00:00.000Z") and launches.2 (started "2026-11-20T13:00:00.000Z") are both 01-warm-up-baseline: warm-up, baseline, seed 0; each run is launched once. Use result.json as Speedproof wrote it"`,
    )
  })

  test('with a launch that its own plan has not is refused', () => {
    const other = { ...result.launches[0], runId: '03-block-9-baseline' }
    expect(refused({ launches: [other] })).toMatchInlineSnapshot(
      `"result.json: launches.0.runId: got "03-block-9-baseline", which is not a run of this experiment's plan. Use result.json as Speedproof wrote it"`,
    )
  })

  test('whose revision is no commit is refused, since it stands in a command', () => {
    expect(refused({ revision: 'main; rm -rf ~' })).toMatchInlineSnapshot(
      `"result.json: revision: got "main; rm -rf ~", expected a commit hash, followed by -dirty if it had changes"`,
    )
  })

  test('whose variants have no commit or hash where one belongs is refused', () => {
    const { baseline } = result.sources
    const sourced = (difference: object) =>
      refused({ sources: { ...result.sources, baseline: { ...baseline, ...difference } } })
    expect(sourced({ revision: 'main; rm -rf ~' })).toContain('sources.baseline.revision: got "main; rm')
    expect(sourced({ lock: { sha256: '`id`', packages: {} } })).toContain('sources.baseline.lock.sha256')
    const code = { before: '<img>', after: '<img>' }
    expect(refused({ launches: [{ ...result.launches[0], code }] })).toContain('launches.0.code.before')
  })

  test('whose experiment name would break a report is refused', () => {
    const experiment = { ...result.experiment, name: 'x\n# @octocat' }
    expect(refused({ experiment })).toMatchInlineSnapshot(
      `"result.json: experiment.name: got "x\\n# @octocat", expected lowercase letters, digits and -, such as two-task-4gpu"`,
    )
  })
})
