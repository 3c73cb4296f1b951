// Writes the README's tables of inputs and outputs from action.yml, between markers.
import { readFileSync, writeFileSync } from 'node:fs'
import { markdownTable } from 'markdown-table'
import { parse } from 'yaml'
import { z } from 'zod'

const PAGE = 'README.md'

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

const contents = {
  inputs: markdownTable([['input', 'meaning', 'default'], ...inputs]),
  outputs: markdownTable([['output', 'meaning'], ...outputs]),
}
const page = Object.entries(contents).reduce(
  (text, [marker, content]) => between(text, marker, content),
  readFileSync(PAGE, 'utf8'),
)
writeFileSync(PAGE, page)

function between(text: string, marker: string, content: string): string {
  const [start, end] = [`<!-- ${marker} -->`, `<!-- /${marker} -->`]
  if (!text.includes(start) || !text.includes(end)) throw new Error(`${PAGE}: missing ${start} ... ${end}`)
  return `${text.slice(0, text.indexOf(start) + start.length)}\n${content}\n${text.slice(text.indexOf(end))}`
}
