// Writes the tables of README.md that come from action.yml, between their markers.
import { readFileSync, writeFileSync } from 'node:fs'
import { markdownTable } from 'markdown-table'
import { parse } from 'yaml'
import { z } from 'zod'

const action = z
  .object({
    inputs: z.record(
      z.string(),
      z.object({ description: z.string(), default: z.string().optional(), required: z.boolean().optional() }),
    ),
    outputs: z.record(z.string(), z.object({ description: z.string() })),
  })
  .parse(parse(readFileSync('action.yml', 'utf8')))

const inputs = Object.entries(action.inputs).map(([name, input]) => [
  `\`${name}\``,
  input.description,
  input.required ? 'required' : input.default === '' ? '' : `\`${input.default}\``,
])
const outputs = Object.entries(action.outputs).map(([name, { description }]) => [`\`${name}\``, description])

let readme = readFileSync('README.md', 'utf8')
readme = between(readme, 'inputs', markdownTable([['input', 'meaning', 'default'], ...inputs]))
readme = between(readme, 'outputs', markdownTable([['output', 'meaning'], ...outputs]))
writeFileSync('README.md', readme)

function between(text: string, marker: string, content: string): string {
  const [start, end] = [`<!-- ${marker} -->`, `<!-- /${marker} -->`]
  if (!text.includes(start) || !text.includes(end)) throw new Error(`README.md: missing ${start} ... ${end}`)
  return `${text.slice(0, text.indexOf(start) + start.length)}\n${content}\n${text.slice(text.indexOf(end))}`
}
