// Checks the style of documentation and messages: `npm run check:prose`. The rules stand in prose/rules.ts.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messagesOfAction, messagesOfPython, messagesOfTypeScript } from './prose/messages.ts'
import { lintProse, problemsOf } from './prose/rules.ts'

const root = join(import.meta.dirname, '..')
const DOCUMENTS = ['{README,CHANGELOG,CONTRIBUTING,ARCHITECTURE,SECURITY}.md', 'docs/**/*.md']

/** Generated, and a style sheet. */
const NO_PROSE = ['src/report/html/bundled.ts', 'src/report/html/style.ts']

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const files = (patterns: string | string[]) => globSync(patterns, { cwd: root }).sort()

const found: string[] = []
for (const path of files(DOCUMENTS)) {
  for (const { line, message } of await lintProse(read(path))) found.push(`${path}:${line}: ${message}`)
}
const messages = [
  ...files('src/**/*.ts')
    .filter((path) => !NO_PROSE.includes(path))
    .flatMap((path) => messagesOfTypeScript(path, read(path))),
  ...messagesOfPython(files('trainer/**/*.py')),
]
const descriptions = messagesOfAction('action.yml', read('action.yml'))
for (const { path, line, text } of [...messages, ...descriptions]) {
  const figures = path === 'action.yml'
  for (const problem of problemsOf(text, { figures })) found.push(`${path}:${line}: ${problem}`)
}

for (const line of found) console.error(line)
if (found.length > 0) {
  console.error(
    `${found.length} violations of the style rules in scripts/prose/rules.ts. Shorten or reword these texts.`,
  )
  process.exitCode = 1
}
