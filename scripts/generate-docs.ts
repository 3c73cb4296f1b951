// Writes what README and docs take from elsewhere, between markers: inputs and outputs from action.yml, results from records.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { markdownTable } from 'markdown-table'
import { parse } from 'yaml'
import { z } from 'zod'
import { assess } from '../src/assess.ts'
import { readRecorded } from '../src/io/analyze.ts'
import { readShared } from '../src/io/ladder/ladder-file.ts'
import { type JudgedRung, judgeLadder, type RungResult } from '../src/judge/ladder.ts'
import { bytes, ratio, seconds, signed } from '../src/report/format.ts'
import { gateCells, TABLE_HEAD } from '../src/report/gate-row.ts'

const GATES = 'benchmarks/gate'
const LADDER = 'benchmarks/ladder/1gpu'

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

write('README.md', {
  inputs: markdownTable([['input', 'meaning', 'default'], ...inputs]),
  outputs: markdownTable([['output', 'meaning'], ...outputs]),
  ...(await gateTables()),
})
write('docs/training-optimizations.md', { ladder: await ladderTable() })

/** The gates of every recorded experiment, judged again from its raw metrics, by its folder. */
async function gateTables(): Promise<Record<string, string>> {
  const folders = readdirSync(GATES, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const tables = folders.map(async ({ name }) => {
    const { request, launched, watched, reevaluation } = await readRecorded(
      `${GATES}/${name}/result.json`,
      (experiment) => experiment,
    )
    const { gates } = assess(request, launched, watched, reevaluation).verdict
    return [`gate ${name}`, markdownTable([[...TABLE_HEAD], ...gates.map(gateCells)])] as const
  })
  return Object.fromEntries(await Promise.all(tables))
}

async function ladderTable(): Promise<string> {
  const files = readdirSync(LADDER).filter((name) => name.endsWith('.json'))
  const { rungs } = judgeLadder(await readShared(files.map((name) => `${LADDER}/${name}`)))
  const [alone, sum] = [
    ['alone', 'gain', 'loss delta'],
    ['in the sum', 'gain', 'loss delta'],
  ]
  const head = ['rung', 'predicted', ...alone, 'memory', 'compile', ...sum]
  return markdownTable([head, ...rungs.map(rungCells)])
}

function rungCells({ rung, alone, sum }: JudgedRung): string[] {
  const { standing } = alone
  const measured =
    standing.status === 'finished'
      ? [
          bytes(standing.summary.metrics.peak_memory_reserved_bytes ?? Number.NaN).replace(/ \(.*/, ''),
          standing.compileSeconds === 0 ? '' : seconds(standing.compileSeconds),
        ]
      : ['', '']
  return [rung.name, rung.predicts ?? '', ...effectCells(alone), ...measured, ...effectCells(sum)]
}

function effectCells({ standing, gain, verdict }: RungResult): string[] {
  if (standing.status !== 'finished') return [verdict, '', '']
  const { secondsPerSample, samples, steps } = standing.summary
  const step = secondsPerSample === null ? '' : seconds((secondsPerSample * samples) / steps)
  const delta = standing.lossDelta === null ? '' : signed(standing.lossDelta, 2)
  return [step, gain === null ? verdict : `${ratio(gain.ratio)}, ${verdict}`, delta]
}

function write(file: string, contents: Readonly<Record<string, string>>): void {
  const text = Object.entries(contents).reduce(
    (text, [marker, content]) => between(file, text, marker, content),
    readFileSync(file, 'utf8'),
  )
  writeFileSync(file, text)
}

function between(file: string, text: string, marker: string, content: string): string {
  const [start, end] = [`<!-- ${marker} -->`, `<!-- /${marker} -->`]
  if (!text.includes(start) || !text.includes(end)) throw new Error(`${file}: missing ${start} ... ${end}`)
  return `${text.slice(0, text.indexOf(start) + start.length)}\n${content}\n${text.slice(text.indexOf(end))}`
}
