// What is committed for GitHub to run is complete and names the licence of everything in it.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from '../fixtures/processes/launching.ts'

const DIST = join(ROOT, 'dist')
const read = (name: string) => readFile(join(DIST, name), 'utf8')

it('dist holds the bundle, the post entry, the licences, a package.json and the cloud action', async () => {
  expect((await readdir(DIST)).sort()).toEqual([
    ...['cloud', 'index.js', 'licenses.txt', 'package.json', 'post.js'],
  ])
  expect((await readdir(join(DIST, 'cloud'))).sort()).toEqual(['index.js', 'licenses.txt', 'package.json'])
  expect(JSON.parse(await read('package.json'))).toEqual({ type: 'module' })
})

it('licenses.txt names every package that the bundle says it holds', async () => {
  // ncc heads each part with "MODULE: ./node_modules/<package>/<file>".
  const heads = (await read('index.js')).matchAll(/MODULE: \S*node_modules\/((?:@[^/\s]+\/)?[^/\s]+)/g)
  const bundled = new Set(Array.from(heads, ([, name = '']) => name))
  expect([...bundled]).toEqual(expect.arrayContaining(['zod', 'yauzl', '@actions/core', '@actions/artifact']))
  const named = new Set((await read('licenses.txt')).split('\n'))
  expect([...bundled].filter((name) => !named.has(name))).toEqual([])
  // The script of the HTML report is a text in the bundle, with a chart library in it.
  expect([...named]).toContain('uplot')
})
