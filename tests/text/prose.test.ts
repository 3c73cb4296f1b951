// The style check of `npm run check:prose`: it fails for a bad sentence and passes a good one.
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { messagesOfAction, messagesOfPython, messagesOfTypeScript } from '../../scripts/prose/messages.ts'
import { lintProse, problemsOf } from '../../scripts/prose/rules.ts'

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

const long = words(31)

test.each([
  ['an error', `throw new ConfigError('${long}')`],
  ['a schema', `z.string().describe('${long}')`],
  ['a warning', `warn('artifact', \`\${count}${long}\`)`],
  ['help', `command.option('--blocks <numbers>', '${long}')`],
  ['a value', `export const reason = { detail: '${long}' }`],
  ['a sum', `new RunError('${words(20).slice(0, -1)} ' + '${words(11)}')`],
])('finds a long sentence of TypeScript in %s', (_, source) => {
  const found = messagesOfTypeScript('src/plan/a.ts', `// ${long}\n${source}\n`)
  expect(found).toMatchObject([{ line: 2 }])
  expect(found.flatMap(({ text }) => problemsOf(text))).toEqual([expect.stringContaining('31 words')])
})

test('finds a long sentence in the descriptions of an action only', () => {
  const source = `name: ${long}\ninputs:\n  mode:\n    description: ${long}\n    default: ${long}\n`
  expect(messagesOfAction('action.yml', source)).toEqual([{ path: 'action.yml', line: 4, text: long }])
})

test('finds texts of Python, but no docstring', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'prose-'))
  const path = join(folder.path, 'a.py')
  const source = [
    `"""${long}"""`,
    `parser.add_argument("--run", help="${long}")`,
    `problem = f"the file {name} " + kind + " has"\\`,
    `    f" no {key}"`,
  ]
  await writeFile(path, source.join('\n'))
  expect(messagesOfPython([path])).toEqual([
    { path, line: 2, text: long },
    { path, line: 3, text: 'the file value value has no value' },
  ])
})

test('takes texts that are joined by + as one', () => {
  const source = `throw new RunError('one two ' + name + \` three \${a + 'b'}\` + ' four')`
  expect(messagesOfTypeScript('src/plan/a.ts', source)).toMatchObject([
    { text: 'one two value three value four' },
  ])
})

test('of a template of HTML, the texts between the tags are checked, each for itself', () => {
  const inner = '<p class="a b c d e f">one two three four five</p>'
  const source = `const page = html\`${inner} \${html\`<b>six</b>\`} <i>seven</i>\``
  expect(messagesOfTypeScript('src/report/a.ts', source).map(({ text }) => text)).toEqual([
    'one two three four five',
  ])
})
