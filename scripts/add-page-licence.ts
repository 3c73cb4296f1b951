// Adds the licence of the chart library to dist/licenses.txt: the bundler sees the page's script as a text, not as a package.
import { appendFileSync, readFileSync } from 'node:fs'

const { name, license } = JSON.parse(readFileSync('node_modules/uplot/package.json', 'utf8'))
// As ncc writes the others: name, kind, text.
appendFileSync(
  'dist/licenses.txt',
  `\n\n${String(name)}\n${String(license)}\n${readFileSync('node_modules/uplot/LICENSE', 'utf8').trim()}\n`,
)
