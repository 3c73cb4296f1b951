import { expect, test } from 'vitest'
import { isReady, missing, ready } from '../../src/judge/machine/doctor.ts'
import { renderDoctor } from '../../src/report/doctor.ts'

const ADVICE = { subject: 'user', status: 'advice', detail: 'root', remedy: 'use another' } as const

test('a machine is ready when nothing is missing, whatever the advice', () => {
  expect(isReady([ready('Python', '3.12'), ADVICE])).toBe(true)
  expect(isReady([ready('Python', '3.12'), missing('torch', 'none', 'install it')])).toBe(false)
})

test('each finding is a line, and what can be mended has its remedy below', () => {
  expect(
    renderDoctor([ready('Python', '3.12'), missing('torch', 'none', 'install it'), ADVICE]),
  ).toMatchInlineSnapshot(`
      "ok       Python  3.12
      MISSING  torch   none
                       -> install it
      advice   user    root
                       -> use another

      This machine is not ready: torch."
    `)
})

test('that a machine is ready says nothing of the experiment, and names what does', () => {
  expect(renderDoctor([ready('Python', '3.12')])).toMatch(/\n\nThis machine has all that .*speedproof plan/)
})
