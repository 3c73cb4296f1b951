// speedproof check: all that is wrong with a metrics file, or what was found in it.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { METRICS_FORMATS, type MetricsSource, metricsSection } from '../config/metrics.ts'
import { parseExperiment } from '../config/parse-experiment.ts'
import { ConfigError } from '../errors.ts'
import { openSource } from '../io/source/open-source.ts'
import { cancelOnSignals } from '../io/system/cancel.ts'
import { readText } from '../io/system/read-text.ts'
import { plainText } from '../io/system/sanitize.ts'
import { checkMetrics } from '../read/check-metrics.ts'
import { FACT_NAMES, FACTS } from '../read/facts.ts'
import type { MetricsRecord } from '../read/metrics-record.ts'
import { readerOf } from '../read/readers.ts'
import { medianOf } from '../statistics/averages.ts'
import { number, seconds } from '../text/numbers.ts'
import { EXIT_BAD_INPUT } from './exit-code.ts'

interface CheckFlags {
  readonly format?: string
  readonly experiment?: string
  readonly python?: string
}

/** More of them is one mistake, made often. */
const MOST_PROBLEMS = 50

export function addCheck(program: Command): void {
  program
    .command('check')
    .argument('<file>', 'metrics file; of tensorboard and wandb-offline, the folder that has it')
    .description('say all that is wrong with a metrics file, or what was found in it')
    .option('--format <name>', `one of ${METRICS_FORMATS.join(', ')} (default: speedproof)`)
    .option('--experiment <file>', 'read it as this experiment file says, under metrics:')
    .option('--python <value>', 'interpreter with tensorboard (default: that of the experiment)')
    .action(check)
}

async function check(file: string, flags: CheckFlags): Promise<void> {
  const { metrics, python } = await sourceOf(flags)
  const reader = readerOf(metrics)
  await using opened = await openSource(resolve(file), reader, flags.python ?? python, cancelOnSignals())
  const { record, problems } = await checkMetrics(reader, opened.source, MOST_PROBLEMS)
  const lines = problems.length === 0 ? foundLines(record) : problems.map(({ message }) => message)
  const count = problems.length === MOST_PROBLEMS ? `the first ${MOST_PROBLEMS}` : problems.length
  const head =
    problems.length === 0
      ? `${file}: no problem found, read as ${reader.name}`
      : `${file}: ${count} ${problems.length === 1 ? 'problem' : 'problems'}, read as ${reader.name}`
  console.log([head, ...lines].map(plainText).join('\n'))
  if (problems.length > 0) process.exitCode = EXIT_BAD_INPUT
}

async function sourceOf({ format, experiment }: CheckFlags): Promise<{
  readonly metrics: MetricsSource
  readonly python: string
}> {
  if (experiment !== undefined) {
    if (format !== undefined)
      throw new ConfigError('--format: got --experiment as well, which names a format. Leave one of them out')
    const { metrics, launch } = parseExperiment(await readText(resolve(experiment), experiment), experiment)
    return { metrics, python: launch.python }
  }
  const known = METRICS_FORMATS.find((one) => one === (format ?? 'speedproof'))
  if (known === undefined)
    throw new ConfigError(`--format: got ${format}, expected one of ${METRICS_FORMATS.join(', ')}`)
  const parsed = metricsSection.safeParse({ format: known })
  if (parsed.success) return { metrics: parsed.data, python: 'python3' }
  throw new ConfigError(
    `--format: ${known} needs more settings than its name. Write them under metrics: of an experiment file, and name that with --experiment`,
  )
}

function foundLines({ steps, evaluations, end, facts, start }: MetricsRecord): string[] {
  const last = evaluations.at(-1)
  const known = FACTS.filter((fact) => facts[fact] !== 'unknown')
  const unknown = FACTS.filter((fact) => facts[fact] === 'unknown')
  const held =
    steps.held.length === 0 ? '' : `, ${steps.held.length} of them with an evaluation or checkpoint`
  return [
    steps.seconds.length === 0
      ? `steps: ${end?.attempted_updates ?? 0}, without their durations`
      : `steps: ${steps.seconds.length}, median ${seconds(medianOf(steps.seconds))}${held}`,
    ...(last
      ? [`evaluations: ${evaluations.length}, the last after step ${last.step}: ${losses(last)}`]
      : []),
    ...(start?.world_size === undefined ? [] : [`processes: ${start.world_size}`]),
    `known: ${known.map((fact) => `${FACT_NAMES[fact]} (${facts[fact]})`).join(', ')}`,
    ...(unknown.length === 0 ? [] : [`unknown: ${unknown.map((fact) => FACT_NAMES[fact]).join(', ')}`]),
  ]
}

function losses({ val_loss, metrics = {} }: MetricsRecord['evaluations'][number]): string {
  const numbers = Object.entries({ val_loss, ...metrics })
  return numbers.map(([name, value]) => `${name} ${number(value)}`).join(', ')
}
