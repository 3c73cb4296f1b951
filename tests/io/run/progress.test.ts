// Who resumes sees which launches run and which were kept.
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { ProgressView } from '../../../src/io/run/progress.ts'
import { aPlannedRun } from '../../fixtures/builders.ts'

function shownAtStart(isKept: boolean): string {
  const output = new PassThrough()
  const run = aPlannedRun()
  new ProgressView([run], output, false).runStarted(run, isKept)
  return String(output.read())
}

test('a launch that was kept from before --resume is not shown as starting', () => {
  expect(shownAtStart(false)).toMatch(/^\[1\/1\] .*: starting\n$/)
  expect(shownAtStart(true)).toMatch(/^\[1\/1\] .*: kept from before --resume\n$/)
})
