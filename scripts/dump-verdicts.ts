// What the judge says of every record, as JSON: held against benchmarks/verdicts.json, so that a change of the code that
// changes a verdict is seen. `--write` makes that file anew.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { assess } from '../src/assess.ts'
import { readRecorded } from '../src/io/load/read-recorded.ts'
import type { PairedEstimate } from '../src/judge/paired.ts'
import { readLadder } from '../src/ladder/io/ladder-file.ts'
import { judgeLadder, type RungResult } from '../src/ladder/judge.ts'

const DUMP = 'benchmarks/verdicts.json'

const experiments: Record<string, unknown> = {}
for (const file of globSync('benchmarks/{gate/*,smoke}/result.json').toSorted())
  experiments[dirname(file)] = await experimentSummary(file)
const ladders: Record<string, unknown> = {}
for (const file of globSync('benchmarks/ladder/*.json').toSorted()) ladders[file] = await ladderSummary(file)
const dump = JSON.parse(JSON.stringify({ experiments, ladders }, tenDigits))

if (process.argv.includes('--write')) {
  writeFileSync(DUMP, `${JSON.stringify(dump)}\n`)
} else {
  const expected = existsSync(DUMP) ? JSON.parse(readFileSync(DUMP, 'utf8')) : {}
  const differing = ['experiments', 'ladders'].flatMap((kind) =>
    [...new Set([...Object.keys(expected[kind] ?? {}), ...Object.keys(dump[kind])])].filter(
      (name) => !isDeepStrictEqual(expected[kind]?.[name], dump[kind][name]),
    ),
  )
  for (const name of differing) console.error(`${name}: the verdict differs from ${DUMP}`)
  console.log(`${Object.keys(experiments).length} records and ${Object.keys(ladders).length} ladders judged`)
  process.exitCode = differing.length === 0 ? 0 : 1
}

async function experimentSummary(file: string) {
  const { request, launched, watched, reevaluation } = await readRecorded(file, (recorded) => recorded)
  const { verdict, machineChecks, runs, outcomes } = assess(request, launched, watched, reevaluation)
  const { speedups } = verdict
  return {
    verdict: verdict.verdict,
    gates: verdict.gates.map(({ gate, baseline, optimized, evidence, state, insensitive }) => ({
      name: gate.name,
      severity: gate.severity,
      limit: gate.limit,
      state: words(state),
      baseline,
      optimized,
      ...numbers(evidence),
      insensitive,
    })),
    checks: [...verdict.checks, ...machineChecks].map(({ name, state }) => `${name}: ${words(state)}`),
    speedups: { total: numbers(speedups.total), toQuality: numbers(speedups.toQuality) },
    warnings: verdict.warnings.length,
    runs: runs.map(({ runId, warmUpSteps, metrics }) => ({
      runId,
      warmUpSteps,
      secondsPerSample: metrics.seconds_per_sample ?? null,
      valLoss: metrics.val_loss ?? null,
    })),
    setAside: outcomes.flatMap(({ run, setAside }) => (setAside === null ? [] : [run.id])),
  }
}

async function ladderSummary(file: string) {
  const { rungs, optimized } = judgeLadder(await readLadder(file))
  return {
    rungs: rungs.map(({ rung, alone, sum }) => ({
      name: rung.name,
      alone: rungSummary(alone),
      sum: rungSummary(sum),
    })),
    optimized: rungSummary(optimized),
  }
}

function rungSummary({ verdict, speedup, gain, problems }: RungResult) {
  return { verdict: words(verdict), speedup, gain, problems: problems.length }
}

function numbers(estimate: PairedEstimate | null) {
  return estimate && { estimate: estimate.estimate, bounds: estimate.bounds, pairs: estimate.pairs }
}

/** Without regard to how the words of a state are joined. */
function words(state: string): string {
  return state.replaceAll('-', ' ')
}

/** A sum in another order may differ in its last digits. */
function tenDigits(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(10)) : value
}
