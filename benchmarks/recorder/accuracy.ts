// Prints how near each way in comes to the step seconds of the Recorder in the same run, and what a step of the Recorder
// costs, from a folder that `trained.py all` has made.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { metricsSection } from '../../src/config/metrics.ts'
import { openSource } from '../../src/io/source/open-source.ts'
import { readMetrics } from '../../src/read/read-metrics.ts'
import { readerOf } from '../../src/read/readers.ts'

/** Not compared: the first steps allocate. */
const WARM_UP = 40
const RECORDER = { format: 'recorder' }
const RECORDED = 'trainer/metrics.jsonl'
const PRINTED = {
  step: 'iter (?<step>\\d+): loss (?<train_loss>\\S+), time (?<step_seconds>[\\d.]+)ms',
  evaluation: 'step (?<step>\\d+): val loss (?<val_loss>\\S+)',
}

/** Each with its kind of training, and the file in the run's folder that it reads. */
const WAYS: readonly (readonly [name: string, kind: string, metrics: object, file: string])[] = [
  // The hook cannot tell an evaluation from the step that holds it.
  ['optimizer hook', 'plain', { ...RECORDER, patterns: { evaluation: PRINTED.evaluation } }, RECORDED],
  ['log', 'plain', { format: 'log', patterns: PRINTED, units: { step_seconds: 'ms' } }, 'log.txt'],
  ['callback', 'hugging-face', RECORDER, RECORDED],
  ['TensorBoard', 'hugging-face', { format: 'tensorboard' }, 'out'],
  ['callback', 'lightning', RECORDER, RECORDED],
  ['callback', 'gpt2', RECORDER, RECORDED],
  ['TensorBoard', 'gpt2', { format: 'tensorboard' }, 'out'],
]

const { values, positionals } = parseArgs({
  options: { python: { type: 'string', default: '.venv-examples/bin/python' } },
  allowPositionals: true,
})
const [folder] = positionals
if (folder === undefined) {
  console.error('usage: node benchmarks/recorder/accuracy.ts FOLDER [--python with tensorboard]')
  process.exitCode = 2
} else {
  for (const processes of [1, 2, 4, 8]) {
    for (const way of WAYS) await printWay(way, `${folder}/${way[1]}-${processes}`, processes)
  }
  const microseconds = Number(readFileSync(join(folder, 'cost-1/log.txt'), 'utf8'))
  console.log(JSON.stringify({ way: 'Recorder', microseconds_per_step: round(microseconds) }))
}

async function printWay([way, kind, metrics, file]: (typeof WAYS)[number], run: string, processes: number) {
  if (!existsSync(run)) return
  const truth = await stepsOf(join(run, 'truth/metrics.jsonl'), RECORDER)
  const steps = await stepsOf(join(run, file), metrics)
  // A step that holds an evaluation is not compared.
  const compared = truth.map((_, index) => index).filter((index) => index >= WARM_UP && !steps[index]?.isHeld)
  const sum = (of: readonly { readonly seconds: number }[]) =>
    compared.reduce((total, index) => total + (of[index]?.seconds ?? Number.NaN), 0)
  const mean = round((1000 * sum(truth)) / compared.length)
  const ratio = round(sum(steps) / sum(truth))
  console.log(
    JSON.stringify({ way, kind, processes, steps: compared.length, step_milliseconds: mean, ratio }),
  )
}

async function stepsOf(path: string, metrics: object) {
  const reader = readerOf(metricsSection.parse(metrics))
  await using source = await openSource(path, reader, values.python, new AbortController().signal)
  const { steps, problem } = await readMetrics(reader, source.source)
  if (problem !== null) throw new Error(`${path}: ${problem.message}`)
  const held = new Set(steps.held.map(({ index }) => index))
  return steps.seconds.map((seconds, index) => ({ seconds, isHeld: held.has(index) }))
}

function round(value: number): number {
  return Number(value.toPrecision(5))
}
