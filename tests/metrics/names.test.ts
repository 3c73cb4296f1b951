// A metric is known by its row: few files may hold its name, so that a new one is a row and a function.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { KNOWN_GATES } from '../../src/config/gates/gates.ts'
import { CATALOGUE } from '../../src/metrics/catalogue.ts'

const SRC = join(import.meta.dirname, '../../src')
const MOST_FILES = 8

/**
 * The names of all metrics and built-in gates, as whole words: in strings, properties, comments alike. Two things do not
 * count: a gate's name that is a plain English word (speedup), and files where the same words are the event fields of a file
 * format.
 */
function namesOfCatalogue(): string[] {
  const gates = KNOWN_GATES.map(({ name }) => name).filter((name) => name.includes('_'))
  return [...new Set([...Object.keys(CATALOGUE), ...gates])]
}

const OF_FORMATS = [
  'read/',
  'config/metrics.ts',
  'config/patterns.ts',
  'cli/check.ts',
  'init/',
  'measure/outcome.ts',
]

const filesOutsideOfFormats = globSync('**/*.{ts,py}', { cwd: SRC }).filter(
  (file) => !OF_FORMATS.some((start) => file.startsWith(start)),
)

/** As `grep -rlwE 'name|name|...' src` does. */
function filesWith(names: readonly string[]): string[] {
  const anyName = new RegExp(`\\b(${names.map((name) => name.replaceAll('.', '\\.')).join('|')})\\b`)
  return filesOutsideOfFormats.filter((file) => anyName.test(readFileSync(join(SRC, file), 'utf8')))
}

test(`names of metrics and gates stand in at most ${MOST_FILES} files`, () => {
  const files = filesWith(namesOfCatalogue())
  expect(files).toContain('metrics/catalogue.ts')
  expect(files.length, `ask the catalogue instead: ${files.join(', ')}`).toBeLessThanOrEqual(MOST_FILES)
})
