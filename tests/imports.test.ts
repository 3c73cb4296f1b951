// The line of ARCHITECTURE.md runs one way: a stage imports earlier ones, never a later one. Nor do files go round in a circle.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

const SRC = join(import.meta.dirname, '../src')
/** More than a newcomer takes in at a glance. */
const MOST_FILES = 13
/** No stage owns these. */
const SHARED = ['errors.ts', 'metrics', 'statistics', 'text']
const LINE = ['config', 'plan', 'read', 'measure', 'judge', 'record', 'report']
/** The run stage and what it stands on. The rest of io/ shows what the report says. */
const RUN = '{process,machine,revisions,run,system}'
/** Entries and the ladder's own effects: they may import any stage. */
const ENTRIES = ['action', 'cli', 'cloud', 'init', 'io', 'ladder']

const places: readonly (readonly [files: string, mayImport: readonly string[]])[] = [
  ...SHARED.map((place) => [under(place), SHARED] as const),
  // An experiment file may hold rungs, so the ladder's config belongs to the first stage.
  ...LINE.map((stage, index) => [under(stage), [...SHARED, ...upTo(index), 'ladder/config.ts']] as const),
  ['ladder/{!(main),report/*}.ts', [...SHARED, ...LINE, 'ladder']],
  [under('init'), [...SHARED, 'config', 'init']],
  [under('cloud'), [...SHARED, 'cloud']],
  ['assess.ts', [...SHARED, ...LINE.slice(0, -1)]],
  [`io/${RUN}/**/*.ts`, [...SHARED, ...LINE.slice(0, -1), 'io']],
]

test.each(places)('%s imports nothing that comes after it', (pattern, mayImport) => {
  const files = globSync(pattern, { cwd: SRC })
  expect(files.length).toBeGreaterThan(0)
  const backwards = files.flatMap((file) =>
    importsOf(file)
      .filter((imported) => !mayImport.some((place) => `${imported}/`.startsWith(`${place}/`)))
      .map((imported) => `${file} imports ${imported}`),
  )
  expect(backwards).toEqual([])
})

test('every folder of src/ has its place', () => {
  const folders = globSync('*/', { cwd: SRC }).map((folder) => normalize(folder).replace(/\/$/, ''))
  expect(folders.toSorted()).toEqual([...SHARED.slice(1), ...LINE, ...ENTRIES].toSorted())
})

test('no folder of src/ holds more than 13 files', () => {
  const counts = Object.entries(Object.groupBy(globSync('**/*.ts', { cwd: SRC }), (file) => dirname(file)))
  const full = counts.filter(([, files = []]) => files.length > MOST_FILES)
  expect(full.map(([folder]) => folder)).toEqual([])
})

test('no files import each other in a circle, be it for a type alone', () => {
  expect(circles()).toEqual([])
})

/** The stages up to one, with it. */
function upTo(index: number): readonly string[] {
  return LINE.slice(0, index + 1)
}

function under(place: string): string {
  return place.endsWith('.ts') ? place : `${place}/**/*.ts`
}

/** As paths below src/. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(SRC, file), 'utf8')
  const named = [...text.matchAll(/\b(?:from|import\(|import) ?'(\.[^']+)'/g)]
  return named.map(([, path = '']) => normalize(join(dirname(file), path)))
}

/** One for each import that leads back to where it came from, such as "a.ts -> b.ts -> a.ts". */
function circles(): string[] {
  const imports = new Map(globSync('**/*.ts', { cwd: SRC }).map((file) => [file, importsOf(file)]))
  const found: string[] = []
  const followed = new Set<string>()
  const follow = (file: string, way: readonly string[]): void => {
    const start = way.indexOf(file)
    if (start >= 0) found.push([...way.slice(start), file].join(' -> '))
    if (start >= 0 || followed.has(file)) return
    for (const imported of imports.get(file) ?? []) follow(imported, [...way, file])
    followed.add(file)
  }
  for (const file of imports.keys()) follow(file, [])
  return found
}
