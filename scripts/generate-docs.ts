// Writes what README and docs take from elsewhere, between markers: inputs and outputs from action.yml, gates from the catalogue, results from records.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { markdownTable } from 'markdown-table'
import { parse } from 'yaml'
import { z } from 'zod'
import { assess } from '../src/assess.ts'
import { VARIANTS } from '../src/config/experiment.ts'
import { KNOWN_GATES } from '../src/config/gates/gates.ts'
import type { Settings } from '../src/config/parse/mapping.ts'
import { isMapping } from '../src/config/same-work/differences.ts'
import { readRecorded } from '../src/io/load/read-recorded.ts'
import { pooledVariance } from '../src/judge/checks/noise.ts'
import type { JudgedGate } from '../src/judge/gates/judge-gates.ts'
import type { PairedEstimate } from '../src/judge/paired.ts'
import { readLadder } from '../src/ladder/io/ladder-file.ts'
import { type JudgedRung, judgeLadder, type RungResult } from '../src/ladder/judge.ts'
import type { Measurement } from '../src/ladder/measurement.ts'
import type { LadderRecord } from '../src/ladder/record.ts'
import type { RunSummary } from '../src/measure/summary.ts'
import { metricNamed } from '../src/metrics/families.ts'
import { needsText } from '../src/metrics/questions.ts'
import type { Result } from '../src/record/result.ts'
import { gateCells, TABLE_HEAD } from '../src/report/gates/gate-row.ts'
import { secondaryEvidence } from '../src/report/sections/secondary-evidence.ts'
import { VERDICT_ICON } from '../src/report/sections/verdict.ts'
import { number, percent, ratio, seconds, signed } from '../src/text/numbers.ts'

const GATES = 'benchmarks/gate'
const LADDER = 'benchmarks/ladder/1gpu.json'

/** The records that the README shows, and what each asked: how fast, */
const SPEEDUPS = {
  'two-task-1gpu': 'the same work',
  'two-task-2gpu': 'the same on two GPUs',
  'two-task-4gpu': 'the same on four GPUs',
  'two-task-4gpu-h100': 'the same on four H100',
  'plan-1gpu': "the speed plan's own settings",
  'plan-4gpu': 'the same settings on four GPUs',
} as const

/** and how soon as good. */
const RECIPES = ['two-task-1gpu-recipe', 'two-task-2gpu-recipe', 'two-task-4gpu-recipe'] as const

/** Records that have no row of their own there. */
const NOISE_FLOORS = ['floor-1gpu', 'floor-4gpu'] as const

/** What the ladder led to: the configs that have a rung. */
const SHIPPED = {
  'optimized form': 'configs/train/two-task-1gpu-optimized.yaml',
  recipe: 'configs/train/two-task-1gpu-recipe.yaml',
} as const

const COMMON_HEAD = ['whole run', 'NRMSE, optimized / baseline', 'memory of a GPU', 'verdict'] as const

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

const judged = await judgeRecords()
const gates = [...judged].map(
  ([name, result]) =>
    [
      `gate ${name}`,
      [
        markdownTable([[...TABLE_HEAD], ...result.verdict.gates.map(gateCells)]),
        ...fastestSteps(result),
      ].join('\n\n'),
    ] as const,
)
write('README.md', {
  inputs: markdownTable([['input', 'meaning', 'default'], ...inputs]),
  outputs: markdownTable([['output', 'meaning'], ...outputs]),
  results: speedupTable(),
  recipes: recipeTable(),
})
write(`${GATES}/README.md`, Object.fromEntries(gates))
write('docs/how-we-judge.md', { gates: gatesTable() })
write('docs/training-optimizations.md', { ladder: await ladderTable(), scatter: scatterTable() })

/** The built-in gates, from the catalogue of metrics. */
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

/** Every recorded experiment, judged again from its raw metrics, by its folder. */
async function judgeRecords(): Promise<ReadonlyMap<string, Result>> {
  const folders = readdirSync(GATES, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const shown = new Set<string>([...Object.keys(SPEEDUPS), ...RECIPES, ...NOISE_FLOORS])
  const unknown = folders.filter(({ name }) => !shown.has(name)).map(({ name }) => name)
  if (unknown.length > 0)
    throw new Error(`${GATES}: give ${unknown} a row in README or name it a noise floor`)
  const results = folders.map(async ({ name }) => {
    const { request, launched, watched, reevaluation } = await readRecorded(
      `${GATES}/${name}/result.json`,
      (experiment) => experiment,
    )
    return [name, assess(request, launched, watched, reevaluation)] as const
  })
  return new Map(await Promise.all(results))
}

function speedupTable(): string {
  const head = ['what', 'GPUs', 'speedup per sample', 'at its fastest steps', ...COMMON_HEAD]
  const rows = Object.entries(SPEEDUPS).map(([folder, what]) => {
    const result = recorded(folder)
    const { gates, speedups } = result.verdict
    return [
      recordLink(folder, what),
      devicesOf(result),
      comparisonCell(gateNamed(gates, 'speedup')),
      estimate(speedups.atFastestSteps.steady),
      ...commonCells(result),
    ]
  })
  return markdownTable([head, ...rows])
}

function recipeTable(): string {
  const head = ['recipe on', 'as good', 'in each task', 'at its fastest steps', ...COMMON_HEAD]
  const rows = RECIPES.map((folder) => {
    const result = recorded(folder)
    const { gates, speedups } = result.verdict
    const { toQuality, toEachQuality } = speedups.atFastestSteps
    const sooner = (name: string) => `${comparisonCell(gateNamed(gates, name))} sooner`
    return [
      recordLink(folder, devicesOf(result)),
      sooner('time_to_quality_speedup'),
      sooner('time_to_each_quality_speedup'),
      `${estimate(toQuality)}, in each task ${estimate(toEachQuality)}`,
      ...commonCells(result),
    ]
  })
  return markdownTable([head, ...rows])
}

function recordLink(folder: string, what: string): string {
  return `[${what}](${GATES}/README.md#${folder})`
}

function devicesOf({ runs }: Result): string {
  const names = runs[0]?.deviceNames ?? []
  return `${names.length} x ${[...new Set(names)].join(', ')}`
}

function commonCells({ verdict }: Result): string[] {
  const { gates, speedups } = verdict
  const [, before, after] = gateCells(gateNamed(gates, 'peak_memory_gb'))
  return [
    estimate(speedups.total),
    comparisonCell(gateNamed(gates, 'nrmse_ratio')),
    `${inGb(before)} -> ${inGb(after)}`,
    `${VERDICT_ICON[verdict.verdict]} ${verdict.verdict}`,
  ]
}

/** Between the measured runs of one variant, each with a seed of its own. */
function scatterTable(): string {
  const head = ['gate', 'an update of the baseline', 'its runs scatter by', 'optimized runs by']
  return markdownTable([
    head,
    ...[...Object.keys(SPEEDUPS), ...RECIPES].map((folder) => {
      const { runs } = recorded(folder)
      const updates = runs
        .filter(({ variant, block }) => variant === 'baseline' && block !== null)
        .map(secondsOfAStep)
      return [
        `[${folder}](../${GATES}/README.md#${folder})`,
        `${seconds(Math.min(...updates))} to ${seconds(Math.max(...updates))}`,
        ...VARIANTS.map((variant) => {
          const spread = pooledVariance(runs, [variant])
          if (spread === null) throw new Error(`${GATES}/${folder}: ${variant} has no two timed runs`)
          return percent(Math.sqrt(spread.variance))
        }),
      ]
    }),
  ])
}

function recorded(folder: string): Result {
  const result = judged.get(folder)
  if (!result) throw new Error(`${GATES}/${folder}: no such record, which the docs are to show`)
  return result
}

/** In the steady state. */
function secondsOfAStep({ runId, metrics, samples, steps }: RunSummary): number {
  const time = metrics.seconds_per_sample
  if (time === undefined) throw new Error(`${runId}: has no timed steps, which the docs are to show`)
  return (time * samples) / steps
}

/** Which reports of before it was told do not have. */
function fastestSteps(result: Result): string[] {
  return secondaryEvidence(result).filter((line) => line.startsWith('Fastest steps:'))
}

function gateNamed(gates: readonly JudgedGate[], name: string): JudgedGate {
  const found = gates.find(({ gate }) => gate.name === name)
  if (!found) throw new Error(`${GATES}: a record without the gate ${name}, which the README is to show`)
  return found
}

/** Estimate and interval as the gate's own row has them, rounded away from proof. */
function comparisonCell(found: JudgedGate): string {
  const [, , , change, bound = ''] = gateCells(found)
  const [, interval] = /^(.*) \(each 95%\)$/.exec(bound) ?? []
  if (!interval) throw new Error(`${GATES}: ${found.gate.name} has no 95% interval, as the README says`)
  return `${change} (${interval})`
}

function estimate(found: PairedEstimate | null): string {
  return found === null ? 'not measured' : ratio(found.estimate)
}

/** Without the GiB beside it. */
function inGb(cell = ''): string {
  return cell.replace(/ \(.*\)$/, '')
}

async function ladderTable(): Promise<string> {
  const record = await readLadder(LADDER)
  const { rungs, baselines, noise } = judgeLadder(record)
  const head = [
    'rung',
    'predicted',
    'ms alone',
    'gain alone',
    'GB',
    'compile',
    'loss delta',
    'ms in the sum',
    'gain in the sum',
    'loss delta',
    'kept in',
  ]
  const steps = baselines.flat().map(secondsOfAStep)
  const [low, high] = [Math.min(...steps), Math.max(...steps)]
  return [
    markdownTable([head, ...rungs.map((judged) => [...rungCells(judged), keptIn(setOf(judged, record))])]),
    '',
    ...(record.experiment.ladder?.rungs ?? [])
      .filter(({ replaces }) => replaces.length > 0)
      .map(({ name, replaces }) => `In the sum, ${name} takes the place of ${replaces.join(', ')}.`),
    `The baseline takes ${seconds(low)} to ${seconds(high)} an update, and one launch of it scatters by ${percent(noise?.deviation ?? Number.NaN)}.`,
  ].join('\n')
}

function setOf({ rung }: JudgedRung, { experiment }: LadderRecord): Settings {
  const own = experiment.ladder?.rungs.find(({ name }) => name === rung.name)
  if (own === undefined) throw new Error(`${LADDER}: no rung is called ${rung.name}`)
  return own.set
}

/** A rung that changes the work may be kept at another value. */
function keptIn(set: Settings): string {
  const keeping = Object.entries(SHIPPED).flatMap(([form, file]) => {
    const config: unknown = parse(readFileSync(file, 'utf8'))
    const values = Object.entries(set).map(([key, value]) => ({
      key,
      wanted: value,
      there: valueAt(config, key),
    }))
    if (values.every(({ wanted, there }) => there === wanted)) return [form]
    const isOtherWork =
      form === 'recipe' && values.every(({ key, there }) => key.startsWith('recipe.') && there !== undefined)
    return isOtherWork ? values.map(({ there }) => `${form}, with ${there}`) : []
  })
  return keeping.length === 0 ? 'none' : keeping.length > 1 ? 'both' : keeping.join()
}

function valueAt(config: unknown, key: string): unknown {
  return key.split('.').reduce((part: unknown, name) => (isMapping(part) ? part[name] : undefined), config)
}

function rungCells({ rung, alone, sum }: JudgedRung): string[] {
  const name = rung.needs.length > 0 ? `${rung.name} (over ${rung.needs.join(', ')})` : rung.name
  const [gain, delta] = effectCells(alone)
  const setUp = setUpCells(alone.measurement)
  return [
    name,
    rung.predicts ?? '',
    stepCell(alone),
    gain,
    ...setUp,
    delta,
    stepCell(sum),
    ...effectCells(sum),
  ]
}

function stepCell({ measurement }: RungResult): string {
  return measurement.status === 'finished' ? number(secondsOfAStep(measurement.summary) * 1e3, 4) : ''
}

function setUpCells(measurement: Measurement): [string, string] {
  if (measurement.status !== 'finished') return ['', '']
  const memory = measurement.summary.metrics.peak_memory_reserved_bytes
  return [
    memory === undefined ? '' : number(memory / 1e9, 3),
    measurement.compileSeconds === 0 ? '' : seconds(measurement.compileSeconds),
  ]
}

function effectCells({ measurement, gain, verdict }: RungResult): [string, string] {
  if (measurement.status !== 'finished') return [verdict, '']
  const delta = measurement.lossDelta === null ? '' : signed(measurement.lossDelta, 2)
  if (gain === null) return [verdict, delta]
  const { bounds } = gain
  const interval = bounds === null ? '' : ` (${ratio(bounds.lower)} to ${ratio(bounds.upper)})`
  return [`${ratio(gain.ratio)}${interval}, ${verdict}`, delta]
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
