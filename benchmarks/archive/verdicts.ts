// What the judge says of every unpacked record, held against benchmarks/records/verdicts.json: a change of the code
// that changes a verdict is seen.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { assess } from '../../src/assess.ts'
import { readRecorded } from '../../src/io/load/read-recorded.ts'
import type { PairedEstimate } from '../../src/judge/paired.ts'
import { readLadder } from '../../src/ladder/io/ladder-file.ts'
import { judgeLadder, type RungResult } from '../../src/ladder/judge.ts'
import { PACKED, recordNames, UNPACKED } from './layout.ts'
import { byTodaysGates, type TodaysVerdict } from './todays-gates.ts'

const DUMP = join(PACKED, 'verdicts.json')
const KINDS = ['experiments', 'ladders'] as const

type Verdicts = Record<(typeof KINDS)[number], Record<string, unknown>>

interface OfExperiment {
  readonly verdict: string
  readonly byTodaysGates: TodaysVerdict | null
}

/** Judges all records that hold an experiment or a ladder. */
export async function judgeRecords(): Promise<Verdicts> {
  const verdicts: Verdicts = { experiments: {}, ladders: {} }
  for (const name of recordNames()) {
    const [result, ladder] = ['result.json', 'ladder.json'].map((file) => join(UNPACKED, name, file))
    if (result && existsSync(result)) verdicts.experiments[name] = await experimentSummary(result)
    if (ladder && existsSync(ladder)) verdicts.ladders[name] = await ladderSummary(ladder)
  }
  return JSON.parse(JSON.stringify(verdicts, tenDigits))
}

export function writeVerdicts(verdicts: Verdicts): void {
  writeFileSync(DUMP, `${JSON.stringify(verdicts)}\n`)
}

/** Names of the records whose verdict is another than the dump's, or which only one of both has. */
export function differing(verdicts: Verdicts): string[] {
  const expected: Verdicts = JSON.parse(readFileSync(DUMP, 'utf8'))
  return KINDS.flatMap((kind) =>
    [...new Set([...Object.keys(expected[kind]), ...Object.keys(verdicts[kind])])].filter(
      (name) => !isDeepStrictEqual(expected[kind][name], verdicts[kind][name]),
    ),
  )
}

/** A line for each record that today's gates, of what it has, judge otherwise than its own did. */
export function judgedOtherwise({ experiments }: Verdicts): string[] {
  return Object.entries(experiments as Record<string, OfExperiment>).flatMap(
    ([name, { verdict, byTodaysGates: today }]) => {
      if (today === null || today.verdictWithoutThose === verdict) return []
      const lacks = today.lacks.length === 0 ? '' : `, without ${today.lacks.join(', ')}, which it lacks`
      return [
        `${name}: ${verdict} by its own gates, ${today.verdictWithoutThose} by those of its experiment today${lacks}`,
      ]
    },
  )
}

async function experimentSummary(file: string) {
  const { request, launched, watched, reevaluation } = await readRecorded(file, (recorded) => recorded)
  const { verdict, machineChecks, runs, outcomes } = assess(request, launched, watched, reevaluation)
  const { speedups } = verdict
  return {
    verdict: verdict.verdict,
    byTodaysGates: await byTodaysGates(file),
    gates: verdict.gates.map(({ gate, baseline, optimized, evidence, status, insensitive }) => ({
      name: gate.name,
      severity: gate.severity,
      limit: gate.limit,
      state: words(status),
      baseline,
      optimized,
      ...numbers(evidence),
      insensitive,
    })),
    checks: [...verdict.checks, ...machineChecks].map(({ name, status }) => `${name}: ${words(status)}`),
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
function words(status: string): string {
  return status.replaceAll('-', ' ')
}

/** A sum in another order may differ in its last digits. */
function tenDigits(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(10)) : value
}
