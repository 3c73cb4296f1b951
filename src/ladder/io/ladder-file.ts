// ladder.json: all that a ladder has measured, with the lines of every run's metrics, so that the file alone is enough.
import { z } from 'zod'
import { parseStrictly } from '../../config/parse/explain.ts'
import { settings } from '../../config/parse/mapping.ts'
import type { Workspace } from '../../io/folder/workspace.ts'
import { refuseResult } from '../../io/load/record-kind.ts'
import { parseJson } from '../../io/system/parse-json.ts'
import { readText } from '../../io/system/read-text.ts'
import { preflightSchema } from '../../measure/machine-record.ts'
import { outcomeOf } from '../../measure/outcome.ts'
import { piecesOf } from '../../read/lines.ts'
import { metricsProblem, readMetrics } from '../../read/read-metrics.ts'
import type { Reader } from '../../read/reader.ts'
import { readerOf } from '../../read/readers.ts'
import { launchRecord, recordedExperiment } from '../../record/result.ts'
import { RECORD_SCHEMA_VERSION, refuseOtherVersion } from '../../record/schema-version.ts'
import { type JsonLimits, LINE_LIMITS } from '../../text/bounded-json.ts'
import { baselineOf } from '../measurement.ts'
import { ladderRun } from '../plan.ts'
import type { LadderLaunch, LadderRecord } from '../record.ts'
import { renderLadderMarkdown } from '../report/report.ts'
import type { LoadedLadder } from './load-ladder.ts'

/** Each launch has its metrics in it: some 30 kB for 200 steps. */
const MAX_LADDER_BYTES = 256 * 1024 * 1024

/** It keeps the lines of the metrics files as texts. */
const KEPT_LINES: JsonLimits = {
  ...LINE_LIMITS,
  characters: MAX_LADDER_BYTES,
  textCharacters: LINE_LIMITS.characters,
}

const names = z.array(z.string())

const ladderFile = z.object({
  schemaVersion: z.literal(RECORD_SCHEMA_VERSION),
  experimentFile: z.string(),
  experiment: recordedExperiment,
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
        .describe('Lines of the metrics files, by file name; null if a file is missing or cannot be read.'),
    }),
  ),
})

/** Lines, by file in the folder of the run. */
export type KeptMetrics = Readonly<Record<string, readonly string[]>>

/** A launch with the lines of its metrics, from which its outcome can be had again. */
export interface RecordedLaunch extends LadderLaunch {
  readonly metrics: KeptMetrics | null
}

export interface RecordedLadder extends LadderRecord {
  readonly launches: readonly RecordedLaunch[]
}

/** What the launches of all sittings gave. */
export type LadderProgress = Pick<RecordedLadder, 'sittings' | 'launches'>

/** The sums are those after these launches: a rung that failed in one is in no later one. */
export async function ladderRecord(
  { question: { request }, settings, resolveAfter }: LoadedLadder,
  { sittings, launches }: LadderProgress,
): Promise<RecordedLadder> {
  const { experimentFile, experiment } = request
  const { trainings, rungs } = await resolveAfter(launches)
  return { experimentFile, experiment, settings, trainings, rungs, sittings, launches }
}

export async function saveLadder(workspace: Workspace, record: RecordedLadder): Promise<void> {
  await workspace.saveLadder(ladderText(record), renderLadderMarkdown(record))
}

function ladderText({ launches, trainings, ...record }: RecordedLadder): string {
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
export async function readLadder(path: string): Promise<RecordedLadder> {
  return withOutcomes(await readFile(path))
}

type LadderFile = z.infer<typeof ladderFile>

async function readFile(path: string): Promise<LadderFile> {
  const text = await readText(path, path, MAX_LADDER_BYTES)
  const json = parseJson(text, path, 'ladder.json', KEPT_LINES)
  refuseResult(json, path)
  refuseOtherVersion(json, path)
  return parseStrictly(ladderFile, json, path)
}

async function withOutcomes(file: LadderFile): Promise<RecordedLadder> {
  const baseline = baselineOf(file)
  const reader = readerOf(file.experiment.metrics)
  const launches = await Promise.all(
    file.launches.map(async ({ launch, seed, ...kept }): Promise<RecordedLaunch> => {
      const run = ladderRun(launch.runId, kept.training === baseline, kept.sitting, seed)
      const outcome = outcomeOf(run, launch, await metricsOf(kept.metrics, reader))
      return { ...kept, launched: { launch, outcome } }
    }),
  )
  return { ...file, launches }
}

async function metricsOf(kept: KeptMetrics | null, reader: Reader) {
  return kept === null
    ? metricsProblem('absent', 'the trainer wrote no metrics into --out')
    : await readMetrics(reader, (file) => piecesOf(kept[file] ?? []))
}
