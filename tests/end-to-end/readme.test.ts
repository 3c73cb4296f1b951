// What the README and the pages behind it show is what the code takes.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { KNOWN_GATES } from '../../src/config/gates/gates.ts'
import { parseExperiment } from '../../src/config/parse-experiment.ts'
import { PRESET_NAMES } from '../../src/config/presets.ts'
import { ladderSection } from '../../src/ladder/config.ts'
import { looksOf } from '../../src/plan/looks.ts'
import { readMetricsLines } from '../fixtures/builders.ts'
import { ROOT } from '../fixtures/processes/launching.ts'

const read = (name: string) => readFile(join(ROOT, name), 'utf8')

/** The rows between `<!-- name -->` and `<!-- /name -->`, without the head. */
async function tableOf(page: string, name: string): Promise<string[][]> {
  const [, table] = (await read(page)).split(new RegExp(`<!-- /?${name} -->`))
  const rows = (table ?? '').trim().split('\n').slice(2)
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

/** The blocks of a page in one language, without their fences. */
async function blocksOf(page: string, language: string): Promise<string[]> {
  const blocks = (await read(page)).matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))
  return Array.from(blocks, ([, block = '']) => block)
}

it('every experiment that it shows is one', async () => {
  const pages = ['README.md', 'docs/experiment.md']
  const blocks = (await Promise.all(pages.map((page) => blocksOf(page, 'yaml')))).flat()
  const experiments = blocks.filter((block) => /^name:/m.test(block) && /^variants:/m.test(block))
  expect(experiments.map((text) => parseExperiment(text, 'a page').name)).toEqual(['my-change', 'not-slower'])
})

it('every preset is in its table, with its blocks and whether it requires its gates', async () => {
  const [text = ''] = (await blocksOf('README.md', 'yaml')).filter((block) => block.startsWith('# configs/'))
  const bare = text.replace(/^gates:.*/ms, '').replace(/^design:\n(?: .*\n)*/m, '')
  const rows = PRESET_NAMES.map((preset) => {
    const experiment = parseExperiment(bare, 'README.md', { preset })
    const { warm_up_launches } = experiment.design
    const warmUp = warm_up_launches > 1 ? `, after ${warm_up_launches} warm-up launches of each variant` : ''
    const isRequired = Object.values(experiment.gates).some(({ severity }) => severity === 'required')
    return [
      `\`${preset}\``,
      `${looksOf(experiment).join(', ')}${warmUp}`,
      isRequired ? 'required' : 'shown, not required',
    ]
  })
  expect(await tableOf('docs/experiment.md', 'presets')).toEqual(rows)
})

it('the metrics file in the contract is whole', async () => {
  const [sample = ''] = await blocksOf('docs/metrics.md', 'json')
  const { problem, evaluations } = await readMetricsLines(sample.trimEnd().split('\n'))
  expect(problem).toBeNull()
  expect(evaluations).toHaveLength(1)
})

it('the page on the judge names every gate', async () => {
  const [, table = ''] = (await read('docs/verdict.md')).split(/<!-- \/?gates -->/)
  const named = Array.from(table.matchAll(/^\| `(.*?)`/gm), ([, name]) => name)
  expect(named).toEqual(KNOWN_GATES.map(({ name }) => name))
})

it('the page on the ladder names each of its keys', async () => {
  const page = await read('docs/ladder.md')
  const keysOf = (of: string) => {
    const [, rows = ''] = page.split(`| key of ${of} | meaning |`)
    const [table = ''] = rows.split('\n\n')
    return Array.from(table.matchAll(/^\| `(.*?)` \|/gm), ([, name]) => name)
  }
  const { shape } = ladderSection
  expect(keysOf('`ladder:`')).toEqual(Object.keys(shape))
  expect(keysOf('a rung')).toEqual(Object.keys(shape.rungs.element.shape))
})
