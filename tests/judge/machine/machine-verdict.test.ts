import { expect, test } from 'vitest'
import type { MachineCheck } from '../../../src/judge/machine/machine-check.ts'
import { withMachine } from '../../../src/judge/machine/machine-verdict.ts'
import { aResult } from '../../fixtures/builders.ts'

const THROTTLED: MachineCheck = { name: 'throttling', status: 'failed', detail: 'slowed down by heat' }
const SPREAD: MachineCheck = { name: 'GPU probe', status: 'warned', detail: '4% apart' }
const UNSEEN: MachineCheck = { name: 'GPU sharing', status: 'not-measured', detail: 'no GPU' }

test('a machine that failed a check makes the verdict invalid, whatever the gates say', async () => {
  const { verdict } = await aResult()
  expect(withMachine(verdict, [UNSEEN, THROTTLED])).toMatchObject({
    verdict: 'invalid',
    reason: 'throttling: slowed down by heat',
  })
})

test('an invalid verdict keeps its own reason beside the machine', async () => {
  const { verdict } = await aResult()
  const invalid = { ...verdict, verdict: 'invalid' as const, reason: 'clocks: they disagree' }
  expect(withMachine(invalid, [THROTTLED]).reason).toBe(
    'clocks: they disagree; throttling: slowed down by heat',
  )
})

test('runs that cannot be compared are no failed launch', async () => {
  const { verdict } = await aResult()
  const unequal = { name: 'equal work' as const, status: 'failed' as const, detail: 'samples differ' }
  const invalid = { ...verdict, verdict: 'invalid' as const, reason: 'samples differ', checks: [unequal] }
  expect(withMachine(invalid, [THROTTLED]).reason).toBe('samples differ; throttling: slowed down by heat')
})

test('a failed launch stays the reason', async () => {
  const { verdict } = await aResult()
  const completion = { name: 'completion' as const, status: 'failed' as const, detail: 'out of memory' }
  const failed = { ...verdict, verdict: 'failed' as const, reason: 'out of memory', checks: [completion] }
  expect(withMachine(failed, [THROTTLED])).toMatchObject({ verdict: 'failed', reason: 'out of memory' })
})

test('what was not measured changes nothing, and what is doubtful is a warning', async () => {
  const { verdict } = await aResult()
  expect(withMachine(verdict, [UNSEEN])).toEqual(verdict)
  const warned = withMachine(verdict, [SPREAD])
  expect(warned.verdict).toBe(verdict.verdict)
  expect(warned.warnings).toEqual([...verdict.warnings, 'GPU probe: 4% apart'])
})
