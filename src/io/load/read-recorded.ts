// Reads a recorded experiment back: its plan, its launches and the raw metrics next to result.json.
import { dirname } from 'node:path'
import { type Experiment, gatesOf } from '../../config/experiment.ts'
import { gatesFile } from '../../config/gates/gates.ts'
import { applyOverrides, type Overrides } from '../../config/overrides/overrides.ts'
import { parseStrictly } from '../../config/parse/explain.ts'
import { parseYaml } from '../../config/parse/yaml.ts'
import { isMapping } from '../../config/same-work/differences.ts'
import { ConfigError } from '../../errors.ts'
import { sortAttempts, withUnlaunched } from '../../judge/repeat.ts'
import type { MachineRecord, Watched } from '../../measure/machine-record.ts'
import { type Launched, type LaunchRecord, type NotRunReason, outcomeOf } from '../../measure/outcome.ts'
import type { Profiles } from '../../measure/profile/profile.ts'
import type { Reevaluation } from '../../measure/reevaluation.ts'
import { followsLook } from '../../plan/budget.ts'
import { type PlannedRun, planRuns, repeatOf } from '../../plan/plan.ts'
import { readerOf } from '../../read/readers.ts'
import { parseRecorded, type Recorded, type Request } from '../../record/result.ts'
import { RECORD_LIMITS } from '../../text/bounded-json.ts'
import { Workspace } from '../folder/workspace.ts'
import { readProfiles } from '../profile/read-profiles.ts'
import { readReevaluationFiles } from '../run/reevaluate.ts'
import { parseJson } from '../system/parse-json.ts'
import { readText } from '../system/read-text.ts'
import { readMachineFiles, readRunMetrics } from './read-run-files.ts'
import { refuseLadder } from './record-kind.ts'

/** Every run carries its resolved config and read-back: some 10 kB each. */
const MAX_RESULT_BYTES = RECORD_LIMITS.characters

export interface Reading {
  readonly request: Request
  readonly launched: readonly Launched[]
  readonly watched: Watched
  readonly reevaluation: Reevaluation
  readonly profiles: Profiles
}

/** Gives the experiment to judge by, which may ask for other gates or other runs than the recorded one. */
export type JudgedBy = (recorded: Experiment) => Experiment | Promise<Experiment>

export async function readRecorded(resultFile: string, judgedBy: JudgedBy): Promise<Reading> {
  const text = await readText(resultFile, resultFile, MAX_RESULT_BYTES)
  const json = parseJson(text, resultFile, 'result.json')
  refuseLadder(json, resultFile)
  const recorded = parseRecorded(json, resultFile)
  const experiment = await judgedBy(recorded.experiment)
  const workspace = new Workspace(dirname(resultFile))
  const plan = planRuns(experiment)
  // What the trainings left is read as it was written, whatever judges it.
  const reader = readerOf(recorded.experiment.metrics)
  const done: Launched[] = []
  const records = new Map<string, readonly MachineRecord[]>()
  for (const { run, launch } of inOrder(plan, recorded.launches)) {
    const { directory, machineFile } = workspace.runFiles(run)
    const ofNodes = await readMachineFiles(machineFile, recorded.preflight?.nodes?.length ?? 1)
    if (ofNodes) records.set(run.id, ofNodes)
    done.push({ launch, outcome: outcomeOf(run, launch, await readRunMetrics(directory, reader)) })
  }
  const watched = { preflight: recorded.preflight, records }
  const launched = withUnlaunched(
    plan,
    done,
    sortAttempts(done, watched).due,
    whyNotRun(experiment, plan, recorded),
  )
  const reevaluation = await readReevaluationFiles(recorded.reevaluation, workspace.evaluationFiles)
  const profiles = await readProfiles(recorded.experiment, workspace)
  return { request: requestOf(recorded, experiment), launched, watched, reevaluation, profiles }
}

/**
 * Only after a look can a verdict have been decided, or a budget be spent: else blocks were left out. Where the others
 * can be compared and judged after all, what was left out in vain is missing, as what was stopped.
 */
function whyNotRun(
  experiment: Experiment,
  plan: readonly PlannedRun[],
  { launches, notRun }: Recorded,
): NotRunReason {
  const isLaunched = ({ id }: PlannedRun) => launches.some(({ runId }) => runId === id)
  const firstMissing = plan.findIndex((run) => !isLaunched(run))
  const endsAtLook = followsLook(experiment, plan, firstMissing) && !plan.slice(firstMissing).some(isLaunched)
  const wasInVain = notRun === 'failed' || notRun === 'incomparable' || notRun === 'unmeasured'
  return endsAtLook || wasInVain ? notRun : 'stopped'
}

/** What was launched, as it was launched: the plan, with the repeats of a block after it. */
function inOrder(plan: readonly PlannedRun[], launches: readonly LaunchRecord[]) {
  const order = launches.map(({ runId }) => runId)
  return plan
    .flatMap((run) => [run, repeatOf(run)])
    .flatMap((run) => {
      const launch = launches.find(({ runId }) => runId === run.id)
      return launch ? [{ run, launch }] : []
    })
    .toSorted((a, b) => order.indexOf(a.run.id) - order.indexOf(b.run.id))
}

function requestOf(
  { launches, reevaluation, notRun, preflight, ...request }: Recorded,
  experiment: Experiment,
): Request {
  return { ...request, experiment }
}

/** `gatesFrom`: another experiment file, or any YAML with `gates:`, whose gates are used instead. */
export async function withGates(
  experiment: Experiment,
  gatesFrom: string | null,
  overrides: Overrides,
): Promise<Experiment> {
  const changed = applyOverrides(
    gatesFrom === null ? experiment : { ...experiment, gates: await readGatesFile(gatesFrom) },
    overrides,
  )
  gatesOf(changed, gatesFrom ?? experiment.name)
  return changed
}

async function readGatesFile(file: string): Promise<Experiment['gates']> {
  const parsed = parseYaml(await readText(file, file), file)
  if (!isMapping(parsed) || parsed.gates === undefined)
    throw new ConfigError(
      `${file}: gates: missing; expected it at the top level, such as gates: { speedup: { at_least: 2.5 } }`,
    )
  return parseStrictly(gatesFile, parsed.gates, `${file}: gates`)
}
