// Writes what the docs take from elsewhere, between markers: inputs and outputs of the action, and the built-in gates.
import { readFileSync, writeFileSync } from 'node:fs'
import { markdownTable } from 'markdown-table'
import { parse } from 'yaml'
import { z } from 'zod'
import { KNOWN_GATES } from '../src/config/gates/gates.ts'
import { metricNamed } from '../src/metrics/families.ts'
import { needsText } from '../src/metrics/questions.ts'

const action = z
  .object({
    inputs: z.record(
      z.string(),
      z.object({ description: z.string(), default: z.string().optional(), required: z.boolean().optional() }),
    ),
    outputs: z.record(z.string(), z.object({ description: z.string() })),
  })
  .parse(parse(readFileSync('action.yml', 'utf8')))

write('docs/action.md', { inputs: inputsTable(), outputs: outputsTable() })
write('docs/verdict.md', { gates: gatesTable() })

function inputsTable(): string {
  const rows = Object.entries(action.inputs).map(([name, input]) => [
    `\`${name}\``,
    input.description,
    input.required ? 'required' : input.default === '' ? '' : `\`${input.default}\``,
  ])
  return markdownTable([['input', 'meaning', 'default'], ...rows])
}

function outputsTable(): string {
  const rows = Object.entries(action.outputs).map(([name, { description }]) => [`\`${name}\``, description])
  return markdownTable([['output', 'meaning'], ...rows])
}

function gatesTable(): string {
  const rows = KNOWN_GATES.map(({ name, metric, statistic, isPriced }) => [
    `\`${name}\``,
    `${statistic} of the ${metricNamed(metric).meaning}`,
    [needsText(metric)?.replaceAll('<', '\\<'), isPriced && 'launch.price_per_gpu_hour']
      .filter(Boolean)
      .join(', and '),
  ])
  return markdownTable([['gate', 'compares', 'needs'], ...rows])
}

function write(page: string, contents: Readonly<Record<string, string>>): void {
  const text = Object.entries(contents).reduce(
    (before, [marker, content]) => between(before, marker, content, page),
    readFileSync(page, 'utf8'),
  )
  writeFileSync(page, text)
}

function between(text: string, marker: string, content: string, page: string): string {
  const [start, end] = [`<!-- ${marker} -->`, `<!-- /${marker} -->`]
  if (!text.includes(start) || !text.includes(end)) throw new Error(`${page}: missing ${start} ... ${end}`)
  return `${text.slice(0, text.indexOf(start) + start.length)}\n${content}\n${text.slice(text.indexOf(end))}`
}
