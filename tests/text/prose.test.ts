// The style check of `npm run check:prose`: it fails for a bad sentence and passes a good one.
import { expect, test } from 'vitest'
import { messagesOfTypeScript } from '../../scripts/prose/messages.ts'
import { lintProse } from '../../scripts/prose/rules.ts'

const words = (count: number) => `${Array(count).fill('word').join(' ')}.`

test.each([
  ['a long sentence', words(31), /31 words/],
  ['three figures', 'It takes 3 runs of 20 steps in 1.5 hours.', /3 figures/],
  ['an idiom', 'More runs mend nothing.', /idiom "mend"/],
  ['an idiom in a table', '| a |\n| --- |\n| nobody knows |', /idiom "nobody knows"/],
])('reports %s', async (_, text, message) => {
  const findings = await lintProse(`# Title\n\n${text}\n`)
  expect(findings).toEqual([{ line: expect.any(Number), message: expect.stringMatching(message) }])
})

test.each([
  ['sentences of 30 words', `${words(30)} W${words(30).slice(1)}`],
  ['two figures', 'It takes 3 runs of 20 steps.'],
  ['versions, dates, issues and code', 'Since 2026-01-02, 1.2.3 and #54 read `1 2 3` with Python 3.12.'],
  ['an estimate with its interval', 'It is 1.8x (1.7x to 1.9x) on 2 GPUs.'],
  ['figures in a table or code', '| 1 2 3 |\n| --- |\n| 4 5 6 |\n\n```\n1 2 3 mend\n```'],
  ['the target of a link', '[A page](a-1-2-3.md) says so.'],
])('passes %s', async (_, text) => {
  expect(await lintProse(`# Title 1 2 3\n\n${text}\n`)).toEqual([])
})

test('finds messages of errors, and every text of a room that speaks to the user', () => {
  const source = `const a = 'five words of a text'\nthrow new RunError(\`lock of \${'x'} is held by nobody\`)\n`
  expect(messagesOfTypeScript('src/plan/a.ts', source)).toEqual([
    { path: 'src/plan/a.ts', line: 2, text: 'lock of value is held by nobody' },
  ])
  expect(messagesOfTypeScript('src/judge/a.ts', source)).toMatchObject([{ line: 1 }, { line: 2 }])
})

test('takes texts that are joined by + as one', () => {
  const source = `throw new RunError('one two ' + name + \` three \${a + 'b'}\` + ' four')`
  expect(messagesOfTypeScript('src/plan/a.ts', source)).toMatchObject([
    { text: 'one two value three value four' },
  ])
})
