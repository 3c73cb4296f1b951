// ladder.json: all that a ladder has measured, with the lines of every run's metrics, so that the file alone is enough.
import { z } from 'zod'
import { experimentFile } from '../../config/experiment.ts'
import { parseStrictly } from '../../config/parse/explain.ts'
import { settings } from '../../config/parse/mapping.ts'
import { differencesOf } from '../../config/same-work/differences.ts'
import { ConfigError } from '../../errors.ts'
import { refuseResult } from '../../io/load/record-kind.ts'
import { parseJson } from '../../io/system/parse-json.ts'
import { readText } from '../../io/system/read-text.ts'
import { plainText } from '../../io/system/sanitize.ts'
import { preflightSchema } from '../../measure/machine-record.ts'
import { outcomeOf } from '../../measure/outcome.ts'
import { piecesOf } from '../../read/lines.ts'
import { metricsProblem, readMetrics } from '../../read/metrics-record.ts'
import { DEFAULT_READER } from '../../read/readers.ts'
import { launchRecord } from '../../record/result.ts'
import { RECORD_SCHEMA_VERSION, refuseOtherVersion } from '../../record/schema-version.ts'
import { ladderRun, launchIdIn } from '../plan.ts'
import type { LadderLaunch, LadderRecord } from '../record.ts'
import { baselineOf } from '../standing.ts'

/** Each launch has its metrics in it: some 30 kB for 200 steps. */
const MAX_LADDER_BYTES = 256 * 1024 * 1024

const names = z.array(z.string())

const ladderFile = z.object({
  schemaVersion: z.literal(RECORD_SCHEMA_VERSION),
  experimentFile: z.string(),
  experiment: experimentFile,
  settings,
  trainings: z.array(z.object({ hash: z.string(), title: z.string(), otherWork: names })),
  rungs: z.array(
    z.object({
      name: z.string(),
      needs: names,
      predicts: z.string().nullable(),
      note: z.string().nullable(),
      alone: z.string(),
      from: z.string(),
      sum: z.string().nullable(),
      sumBefore: z.string(),
      isLeftOut: z.boolean(),
    }),
  ),
  sittings: z.array(
    z.object({
      startedAt: z.string(),
      host: z.string(),
      revision: z.string().nullable(),
      preflight: preflightSchema,
    }),
  ),
  launches: z.array(
    z.object({
      sitting: z.int().nonnegative(),
      training: z.string(),
      seed: z.int(),
      disturbance: z.string().nullable(),
      launch: launchRecord,
      metrics: z
        .record(z.string(), z.array(z.string()))
        .nullable()
        .describe('The lines of what the reader reads, by file; null where it is not all there.'),
    }),
  ),
})

/** Lines, by file in the folder of the run. */
export type KeptMetrics = Readonly<Record<string, readonly string[]>>

/** A launch with the lines of its metrics, from which its outcome can be had again. */
export interface KeptLaunch extends LadderLaunch {
  readonly metrics: KeptMetrics | null
}

export interface KeptLadder extends LadderRecord {
  readonly launches: readonly KeptLaunch[]
}

export function ladderText({ launches, trainings, ...record }: KeptLadder): string {
  const file = {
    schemaVersion: RECORD_SCHEMA_VERSION,
    ...record,
    trainings: trainings.map(({ hash, title, otherWork }) => ({ hash, title, otherWork })),
    launches: launches.map(({ launched: { launch, outcome }, ...kept }) => ({
      ...kept,
      seed: outcome.run.seed,
      launch,
    })),
  }
  return `${JSON.stringify(file, null, 1)}\n`
}

/** Throws a ConfigError that says what in the file is not as ladder.json should be. */
export async function readLadder(path: string): Promise<KeptLadder> {
  return withOutcomes(await readFile(path))
}

/** Of calls that shared one ladder: their sittings follow one another. */
export async function readShared(paths: readonly string[]): Promise<KeptLadder> {
  const read = await Promise.all(paths.map(async (path) => ({ path, ...(await readFile(path)) })))
  const startOf = ({ sittings }: LadderFile) => Date.parse(sittings[0]?.startedAt ?? '') || 0
  const files = read.toSorted((one, other) => startOf(one) - startOf(other))
  const [first, ...others] = files
  if (first === undefined) throw new Error('a ladder is in one file at least')
  const { path, ...whole } = first
  for (const other of others) {
    requireSameLadder(first, other)
    const before = whole.sittings.length
    const isKnown = other.sittings.find((sitting) => whole.sittings.some((known) => isEqual(known, sitting)))
    if (isKnown !== undefined)
      throw new ConfigError(
        `--show: ${other.path} has the sitting of ${isKnown.startedAt}, as another file has; name each file once, and no copy`,
      )
    whole.sittings = [...whole.sittings, ...other.sittings]
    whole.launches = [...whole.launches, ...other.launches.map((launch) => inLaterSitting(launch, before))]
  }
  const ladder = await withOutcomes(whole)
  const { trainings, rungs } = planOf(files, ladder.launches)
  return { ...ladder, trainings, rungs }
}

type NamedFile = LadderFile & { readonly path: string }

/** What the sums are, by what a call has left out of them: of the one that has left out most. All that has finished is in it. */
function planOf(files: readonly NamedFile[], launches: readonly LadderLaunch[]): LadderFile {
  const leftOut = ({ rungs }: LadderFile) => rungs.filter(({ isLeftOut }) => isLeftOut).length
  const plans = files.toSorted((one, other) => leftOut(other) - leftOut(one))
  const hasFinished = ({ launched }: LadderLaunch) => launched.outcome.status === 'finished'
  const finished = new Set(launches.filter(hasFinished).map(({ training }) => training))
  const lackedBy = (plan: LadderFile) => {
    const known = new Set(plan.trainings.map(({ hash }) => hash))
    return files.find(({ trainings }) => trainings.some(({ hash }) => finished.has(hash) && !known.has(hash)))
  }
  const plan = plans.find((file) => lackedBy(file) === undefined)
  if (plan !== undefined) return plan
  const [best] = plans
  const other = best && lackedBy(best)
  if (!best || !other) throw new Error('a ladder is in one file at least')
  throw notOfOneLadder(
    best,
    other,
    'in their sums, by what failed in them; show each by itself, or measure the sums in one call with --part sum',
  )
}

type LadderFile = z.infer<typeof ladderFile>

async function readFile(path: string): Promise<LadderFile> {
  const text = await readText(path, path, MAX_LADDER_BYTES)
  const json = parseJson(text, path, 'ladder.json')
  refuseResult(json, path)
  refuseOtherVersion(json, path)
  return parseStrictly(ladderFile, json, path)
}

function requireSameLadder(one: NamedFile, other: NamedFile): void {
  const parts = (file: LadderFile) => ({
    experiment: file.experiment,
    settings: file.settings,
    rungs: file.rungs.map(({ name, alone, from }) => ({ name, alone, from })),
  })
  const [these, those] = [parts(one), parts(other)]
  const key = (['experiment', 'settings', 'rungs'] as const).find((one) => !isEqual(these[one], those[one]))
  if (key === undefined) return
  const [first] = differencesOf(these[key], those[key], [])
  const values = [first?.baseline, first?.optimized].map((value) => plainText(JSON.stringify(value)))
  const which = first === undefined ? '' : ` (${plainText(first.key)}: ${values.join(' and ')})`
  throw notOfOneLadder(one, other, `in their ${key}${which}; show each by itself`)
}

function notOfOneLadder(one: NamedFile, other: NamedFile, reason: string): ConfigError {
  return new ConfigError(`--show: ${one.path} and ${other.path} are not of one ladder: they differ ${reason}`)
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function inLaterSitting(
  { launch, ...kept }: LadderFile['launches'][number],
  sittingsBefore: number,
): LadderFile['launches'][number] {
  const sitting = kept.sitting + sittingsBefore
  return { ...kept, sitting, launch: { ...launch, runId: launchIdIn(sitting, launch.runId) } }
}

async function withOutcomes(file: LadderFile): Promise<KeptLadder> {
  const baseline = baselineOf(file)
  const launches = await Promise.all(
    file.launches.map(async ({ launch, seed, ...kept }): Promise<KeptLaunch> => {
      const run = ladderRun(launch.runId, kept.training === baseline, kept.sitting, seed)
      const outcome = outcomeOf(run, launch, await metricsOf(kept.metrics))
      return { ...kept, launched: { launch, outcome } }
    }),
  )
  return { ...file, launches }
}

async function metricsOf(kept: KeptMetrics | null) {
  return kept === null
    ? metricsProblem('absent', 'the trainer wrote no metrics into --out')
    : await readMetrics(DEFAULT_READER, (file) => piecesOf(kept[file] ?? []))
}
