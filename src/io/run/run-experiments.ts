// Runs the experiments of a call, one after the other, on the machine that they share.
import { gatesOf } from '../../config/experiment.ts'
import { CancelledError, ConfigError, InterferenceError, RunError } from '../../errors.ts'
import { asInvalid } from '../../judge/machine/machine-verdict.ts'
import { lackOfGpus } from '../../judge/machine/preflight.ts'
import type { PlannedRun } from '../../plan/plan.ts'
import { isShortForm } from '../../plan/torchrun.ts'
import { nameOf } from '../../record/combined.ts'
import type { Result } from '../../record/result.ts'
import type { Engine } from '../engine/engine.ts'
import { localEngine } from '../engine/local.ts'
import { openEngine } from '../engine/open-engine.ts'
import { storeNoiseFloor, whyNotStored } from '../load/noise-floors.ts'
import type { Opened } from '../load/resume.ts'
import { hostNameProblem, hostNameRemedy } from '../machine/host.ts'
import type { Stage } from './job.ts'
import type { Site } from './lock-site.ts'
import { type Assess, type Ended, runAll } from './run-all.ts'

export interface Planned extends Opened {
  readonly plan: readonly PlannedRun[]
}

export interface Results {
  /** One for each experiment, also for those that are left out. */
  readonly results: readonly Result[]
  /** What broke off the first that did not come to its end, thrown once all of this has been reported. */
  readonly problem: Error | null
}

export async function runExperiments(
  experiments: readonly Planned[],
  site: Site,
  stage: Stage,
  assess: Assess,
): Promise<Results> {
  const name = nameOf(experiments.map(({ request }) => request.experiment))
  const results: Result[] = []
  let problem: Error | null = null
  for (const experiment of experiments) {
    // What broke one off, such as a full disk or a process that is left, would spoil the next.
    const on = problem !== null ? { ...stage, cancelled: AbortSignal.abort() } : stage
    if (experiments.length > 1) stage.note(`${experiment.request.experiment.name}:`)
    const ended = await runExperiment(experiment, name, site, on, assess)
    results.push(ended.result)
    problem ??= ended.problem
  }
  const planted = problem instanceof InterferenceError ? [problem.message] : []
  return {
    results: await withInterference(results, experiments, [...stage.interference(), ...planted]),
    problem,
  }
}

/** Which training did it cannot be told, so no verdict of the call holds. */
async function withInterference(
  results: readonly Result[],
  experiments: readonly Planned[],
  interference: readonly string[],
): Promise<readonly Result[]> {
  if (interference.length === 0) return results
  const changed = results.map((result) => ({
    ...result,
    interference,
    verdict: asInvalid(result.verdict, interference),
    measuredFloor: null,
  }))
  for (const [index, { workspace }] of experiments.entries()) {
    const result = changed[index]
    if (result !== undefined) await workspace.save(result)
  }
  return changed
}

/** `name`: of all experiments of the call. */
async function runExperiment(
  opened: Planned,
  name: string,
  site: Site,
  stage: Stage,
  assess: Assess,
): Promise<Ended> {
  const { experiment } = opened.request
  const { progress, note, onStart } = stage
  await using found = await findEngine(opened, site, stage)
  // Without an engine nothing is launched, and what was kept is judged.
  const cancelled = found.problem === null ? stage.cancelled : AbortSignal.abort()
  const { engine } = found
  const machine = await site.examine(experiment, engine, cancelled)
  const lack = lackOfGpus(gatesOf(experiment), machine.seen.preflight)
  if (lack !== null && !cancelled.aborted)
    note(`${experiment.name}: ${lack}, and the verdict will be inconclusive`)
  if (engine.kind === 'local' && experiment.launch.nproc_per_node > 1 && !isShortForm(experiment.launch)) {
    const problem = await hostNameProblem()
    if (problem !== null) note(`${experiment.name}: ${problem}; ${hostNameRemedy(false)}`)
  }
  const ended = await runAll(opened, opened.plan, {
    ...{ cancelled, onStart, machine, engine, assess },
    progress: progress(opened.plan, name),
  })
  return { ...ended, problem: found.problem ?? ended.problem }
}

interface FoundEngine extends AsyncDisposable {
  readonly engine: Engine
  /** Why nothing can be launched: the queue took too long, or the partition is unknown. */
  readonly problem: Error | null
}

async function findEngine(
  { request: { experiment }, workspace, kept }: Opened,
  { workingDirectory }: Site,
  { cancelled, note, onAllocation }: Stage,
): Promise<FoundEngine> {
  const none = localEngine({ workingDirectory, environment: {} })
  const without = (problem: Error | null) => ({
    engine: none,
    problem,
    [Symbol.asyncDispose]: async () => {},
  })
  if (cancelled.aborted) return without(null)
  try {
    const question = { experiment, workspace, workingDirectory, isResumed: kept.length > 0 }
    const engine = await openEngine(question, { cancelled, note, onAllocation })
    return { engine, problem: null, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() }
  } catch (error) {
    if (error instanceof CancelledError) return without(null)
    if (error instanceof RunError || error instanceof ConfigError) return without(error)
    throw error
  }
}

/** Keeps what each A/A that passed has measured. */
export async function storeNoiseFloors(
  results: readonly Result[],
  folder: string,
  note: (message: string) => void,
): Promise<void> {
  for (const { measuredFloor } of results) {
    if (measuredFloor === null) continue
    const why = whyNotStored()
    note(`Noise floor: ${why === null ? await storeNoiseFloor(folder, measuredFloor) : `not stored: ${why}`}`)
  }
}
