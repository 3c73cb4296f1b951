// Everything about an experiment in one value: what result.json holds and what every report is rendered from.
import { z } from 'zod'
import { type Experiment, experimentFile, type Variant } from '../config/experiment.ts'
import { withoutFormerKeys } from '../config/launch/engine.ts'
import { type Overrides, overridesSchema } from '../config/overrides/overrides.ts'
import { parseStrictly } from '../config/parse/explain.ts'
import { type Sources, sourcesSchema } from '../config/revisions/sources.ts'
import type { Difference } from '../config/same-work/differences.ts'
import type { ResolvedConfigs } from '../config/same-work/same-work.ts'
import type { MachineCheck } from '../judge/machine/machine-check.ts'
import { type NoiseFloor, noiseFloorSchema } from '../judge/noise/noise-floor.ts'
import type { Verdict } from '../judge/verdict.ts'
import type { Curve } from '../measure/curves.ts'
import { type DataHashes, dataHashesSchema } from '../measure/data-hashes.ts'
import { transportsSchema } from '../measure/machine/interconnect.ts'
import type { MachineSummary } from '../measure/machine.ts'
import { type Preflight, preflightSchema } from '../measure/machine-record.ts'
import type { CompileCache, Launched, LaunchRecord, NotRunReason, RunOutcome } from '../measure/outcome.ts'
import type { Profiles } from '../measure/profile/profile.ts'
import type { RunSummary } from '../measure/summary.ts'
import type { PlannedRun } from '../plan/plan.ts'
import type { Facts } from '../read/facts.ts'
import { refuseForeignLaunches } from './recorded-launches.ts'
import { RECORD_SCHEMA_VERSION, refuseOtherVersion } from './schema-version.ts'

/** Of both `--out` and the action's input. */
export const DEFAULT_OUT = 'out'

/** What was asked for: enough to plan the same runs again and to read their files. */
export interface Request {
  readonly experimentFile: string
  readonly experiment: Experiment
  readonly configs: ResolvedConfigs
  /** What inputs or flags changed in the experiment file; `experiment` has it applied. */
  readonly overrides: Overrides
  /** Commit of the working directory, `-dirty` with uncommitted changes; null outside of git. */
  readonly revision: string | null
  /** Of the experiment, its configs and its script: what git does not track, so that no commit has it. */
  readonly untracked: readonly string[]
  /** As it was named: of several experiments, the folder above theirs. */
  readonly outDirectory: string
  /** Of the workflow run that measures, which is 1 before anybody ran it again; null outside of a workflow. */
  readonly attempt: number | null
  /** Code and lock of each variant. */
  readonly sources: Sources
  /** Blocks of two hosts cannot be compared. */
  readonly host: string
  /** What the trainings see of this process's environment and the experiment does not name, such as OMP_NUM_THREADS. */
  readonly environment: Readonly<Record<string, string>>
  /** What was stored of these trainings when the experiment began, on whatever machine. */
  readonly noiseFloors: readonly NoiseFloor[]
  /** Of the files under `data:`; null without any, and before they are hashed. */
  readonly data: DataHashes | null
  /** What somebody has changed while the trainings ran that no training may change; known at the end. */
  readonly interference: readonly string[]
}

export interface Result extends Request {
  readonly schemaVersion: typeof RECORD_SCHEMA_VERSION
  readonly differences: readonly Difference[]
  readonly launches: readonly LaunchRecord[]
  /** The process that evaluated the final checkpoints once more, if there was one. */
  readonly reevaluation: LaunchRecord | null
  /** Why planned launches that are missing in `launches` were not run. */
  readonly notRun: NotRunReason
  readonly outcomes: readonly OutcomeLine[]
  /** Where the numbers of each variant come from: the worst over its measured runs; null where none finished. */
  readonly facts: Readonly<Record<Variant, Facts | null>>
  /** The finished runs that count. */
  readonly runs: readonly RunSummary[]
  /** Of the measured runs, for the eye: nothing is judged by them. */
  readonly curves: readonly Curve[]
  /** Null where nothing looked at the machine. */
  readonly preflight: Preflight | null
  /** Of the finished runs that were watched. */
  readonly machines: readonly MachineSummary[]
  /** Of the traced launches at the end: for the eye, nothing is judged by them. */
  readonly profiles: Profiles
  readonly machineChecks: readonly MachineCheck[]
  readonly verdict: Verdict
  /** Of an A/A that passed. */
  readonly measuredFloor: NoiseFloor | null
}

/** What became of one launch, without its metrics, which stand in their own file. */
export interface OutcomeLine {
  readonly run: PlannedRun
  readonly status: RunOutcome['status']
  readonly reason: string | null
  readonly message: string | null
  readonly wallSeconds: number | null
  readonly compileCache: CompileCache | null
  /**
   * Of a launch that the machine disturbed, or a repeat that was not needed: shown, not counted. `summary` is null if it
   * did not finish.
   */
  readonly setAside: { readonly reason: string; readonly summary: RunSummary | null } | null
}

export function outcomeLine({ launch, outcome }: Launched, setAside: OutcomeLine['setAside']): OutcomeLine {
  return {
    run: outcome.run,
    status: outcome.status,
    reason: outcome.status === 'failed' || outcome.status === 'not-run' ? outcome.reason : null,
    message:
      outcome.status === 'failed'
        ? outcome.message
        : outcome.status === 'cancelled'
          ? (outcome.because ?? null)
          : null,
    wallSeconds: outcome.status === 'not-run' ? null : outcome.wallSeconds,
    compileCache: launch?.compileCache ?? null,
    setAside,
  }
}

const wallSeconds = z.number().nonnegative().max(1e9)
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256')

export const launchRecord = z.object({
  runId: z.string(),
  startedAt: z.string(),
  result: z.discriminatedUnion('status', [
    z.object({ status: z.literal('exited'), exitCode: z.int(), wallSeconds }),
    z.object({ status: z.literal('signalled'), signal: z.string(), wallSeconds }),
    z.object({ status: z.literal('timed-out'), wallSeconds }),
    z.object({ status: z.literal('cancelled'), wallSeconds, because: z.string().optional() }),
    z.object({ status: z.literal('not-started'), message: z.string() }),
  ]),
  errors: z.array(
    z.object({
      rank: z.int().nullable(),
      cause: z.enum(['out-of-memory', 'diverged', 'signal', 'error']),
      message: z.string(),
      step: z.int().nullable(),
      location: z.string().optional(),
    }),
  ),
  lastLine: z.string().nullable().optional(),
  rankExit: z.object({ rank: z.int(), exitCode: z.int() }).optional(),
  reports: z.object({ lastSeconds: wallSeconds, longestGapSeconds: wallSeconds }).optional(),
  interconnect: transportsSchema.nullable().optional(),
  compileCache: z.enum(['unused', 'cold', 'warm']).nullable(),
  code: z.object({ before: sha256, after: sha256, changed: z.array(z.string()).optional() }).nullable(),
})

export const recordedExperiment = z.preprocess(withoutFormerKeys, experimentFile)

/** The part of result.json that cannot be computed again; the rest is recomputed from it and the metrics files. */
const recordedFile = z.object({
  schemaVersion: z.literal(RECORD_SCHEMA_VERSION),
  experimentFile: z.string(),
  experiment: recordedExperiment,
  configs: z.object({
    baseline: z.record(z.string(), z.unknown()),
    optimized: z.record(z.string(), z.unknown()),
  }),
  overrides: overridesSchema,
  revision: z
    .string()
    .regex(/^[0-9a-f]{40,64}(-dirty)?$/, 'a commit hash, followed by -dirty if it had changes')
    .nullable(),
  untracked: z.array(z.string()),
  outDirectory: z.string(),
  attempt: z.int().min(1).nullable().default(null),
  sources: sourcesSchema,
  host: z.string(),
  environment: z.record(z.string(), z.string()),
  noiseFloors: z.array(noiseFloorSchema),
  data: dataHashesSchema.nullable().default(null),
  interference: z.array(z.string()).default([]),
  launches: z.array(launchRecord),
  reevaluation: launchRecord.nullable(),
  preflight: preflightSchema.nullable(),
  notRun: z.enum(['decided', 'futile', 'budget', 'unfit', 'failed', 'incomparable', 'unmeasured', 'stopped']),
})

export type Recorded = Request & Pick<Result, 'launches' | 'reevaluation' | 'notRun' | 'preflight'>

/** Throws a ConfigError that names what in the file is not as result.json should be. */
export function parseRecorded(json: unknown, file: string): Recorded {
  refuseOtherVersion(json, file)
  const recorded = parseStrictly(recordedFile, json, file)
  refuseForeignLaunches(recorded.experiment, recorded.launches, file)
  return recorded
}
