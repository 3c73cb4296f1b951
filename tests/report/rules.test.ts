// Every rule that a report links to is written down.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { RULES } from '../../src/report/rules.ts'

test('docs/how-we-judge.md has a heading for each rule', () => {
  const page = readFileSync(new URL('../../docs/how-we-judge.md', import.meta.url), 'utf8')
  const anchors = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(' ', '-')
      .replaceAll(/[^\w-]/g, ''),
  )
  expect(anchors).toEqual(expect.arrayContaining(Object.values(RULES)))
})
