// Every rule that a report links to is written down.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { RULES } from '../../src/report/rules.ts'

test.each(Object.values(RULES))('docs/%s is a heading', (rule) => {
  const [page = '', anchor] = rule.split('#')
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
  const anchors = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(' ', '-')
      .replaceAll(/[^\w-]/g, ''),
  )
  expect(anchors).toContain(anchor)
})
