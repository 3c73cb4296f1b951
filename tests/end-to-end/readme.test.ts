// The README's tables of inputs and outputs say what action.yml says.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { ROOT } from '../fixtures/processes/launching.ts'

const described = z.object({ description: z.string() })
const actionFile = z.object({
  inputs: z.record(
    z.string(),
    described.extend({ required: z.boolean().optional(), default: z.string().optional() }),
  ),
  outputs: z.record(z.string(), described),
})

const read = (name: string) => readFile(join(ROOT, name), 'utf8')
const readAction = async () => actionFile.parse(parse(await read('action.yml')))

/** The rows between `<!-- name -->` and `<!-- /name -->`, without the head. */
async function tableOf(name: string): Promise<string[][]> {
  const [, table] = (await read('README.md')).split(new RegExp(`<!-- /?${name} -->`))
  const rows = (table ?? '').trim().split('\n').slice(2)
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

it('every input is in its table, with meaning and default', async () => {
  const { inputs } = await readAction()
  const rows = Object.entries(inputs).map(([name, input]) => [
    `\`${name}\``,
    input.description,
    input.required ? 'required' : input.default ? `\`${input.default}\`` : '',
  ])
  expect(await tableOf('inputs')).toEqual(rows)
})

it('every output is in its table, with its meaning', async () => {
  const { outputs } = await readAction()
  const rows = Object.entries(outputs).map(([name, { description }]) => [`\`${name}\``, description])
  expect(await tableOf('outputs')).toEqual(rows)
})
