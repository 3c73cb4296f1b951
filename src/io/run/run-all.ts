// Runs one experiment: does what nextStep says until it says stop, and saves after each launch.
import { VARIANTS } from '../../config/experiment.ts'
import { RunError } from '../../errors.ts'
import { nextStep } from '../../judge/next-step.ts'
import { sortAttempts, withUnlaunched } from '../../judge/repeat.ts'
import type { DataHashes } from '../../measure/data-hashes.ts'
import type { Watched } from '../../measure/machine-record.ts'
import type { Launched, NotRunReason } from '../../measure/outcome.ts'
import type { Reevaluation } from '../../measure/reevaluation.ts'
import type { PlannedRun } from '../../plan/plan.ts'
import type { Request, Result } from '../../record/result.ts'
import type { Engine } from '../engine/engine.ts'
import type { Opened } from '../load/resume.ts'
import type { ExaminedMachine } from '../machine/take-machine.ts'
import { profileVariants } from '../profile/profile-variants.ts'
import { dataHashes, hashData } from './data-hash.ts'
import { launchRun, type RunHooks } from './launch-run.ts'
import { reevaluate } from './reevaluate.ts'

/** Measures and judges what was launched; `launched` has an entry for each planned run and each repeat. */
export type Assess = (
  request: Request,
  launched: readonly Launched[],
  watched: Watched,
  reevaluation?: Reevaluation,
) => Result

export interface AllHooks extends RunHooks {
  readonly machine: ExaminedMachine
  readonly assess: Assess
}

export interface Ended {
  readonly result: Result
  /** What broke off the plan, thrown once what was measured has been reported; null if nothing did. */
  readonly problem: Error | null
}

/** Runs in `kept` are not launched again. */
export async function runAll(
  { request, places, inputs, workspace, kept, data }: Opened,
  plan: readonly PlannedRun[],
  hooks: AllHooks,
): Promise<Ended> {
  const { cancelled, progress, machine, engine, assess } = hooks
  const { experiment } = request
  const done: Launched[] = []
  let evaluated: { readonly after: NotRunReason; readonly reevaluation: Reevaluation } | null = null
  /** By the reason why the rest is left out. Cleared by each launch, so that `done` is judged once per reason. */
  const judged = new Map<NotRunReason, Result>()
  try {
    for (;;) {
      const step = nextStep({
        ...{ experiment, plan, done, kept, judgedAs },
        watched: machine.seen,
        isCancelled: cancelled.aborted || engine.lost() !== null,
        evaluatedAfter: evaluated?.after ?? null,
      })
      if (step.status === 'stop') {
        const seen = { ...request, data: await dataAtEnd() }
        const result = assessed(step.reason, evaluated?.reevaluation, seen)
        await workspace.save(result)
        return { result: await withProfiles(result), problem: problemOf(engine) }
      }
      if (step.status === 'evaluate') evaluated = await evaluate(step.runIds, step.reason)
      else await perform(step.run)
    }
  } catch (error) {
    // A full disk or a bug of ours: what is measured is still worth its report.
    return { result: assessed('stopped'), problem: asError(error) }
  }

  function assessed(reason: NotRunReason, reevaluation?: Reevaluation, asked = request): Result {
    const watched = machine.seen
    const { due } = sortAttempts(done, watched)
    return assess(asked, withUnlaunched(plan, done, due, reason), watched, reevaluation)
  }

  /** Once all is judged and saved, so that nothing can be lost by it. */
  async function withProfiles(result: Result): Promise<Result> {
    const isOver = cancelled.aborted || engine.lost() !== null
    if (!experiment.profile || isOver || !hasBoth(result)) return result
    const profiles = await profileVariants({ request, places, inputs, workspace }, hooks)
    const profiled = { ...result, profiles }
    await workspace.save(profiled)
    return profiled
  }

  async function dataAtEnd(): Promise<DataHashes | null> {
    const names = experiment.data
    if (data === null || names === undefined || done.length === 0) return request.data
    return dataHashes(data, await hashData(names, places, 'after', cancelled))
  }

  function judgedAs(reason: NotRunReason): Result {
    const result = judged.get(reason) ?? assessed(reason)
    judged.set(reason, result)
    return result
  }

  async function perform(run: PlannedRun): Promise<void> {
    const earlier = kept.find(({ outcome }) => outcome.run.id === run.id)
    progress.runStarted(run, earlier !== undefined)
    const input = inputs[run.purpose][run.variant]
    const training = { experiment, place: places[run.variant], input }
    const launched = earlier ?? (await launchRun(run, training, workspace, hooks))
    done.push(launched)
    judged.clear()
    progress.runEnded(launched.outcome)
    await machine.recall(run.id, workspace.runFiles(run).machineFile)
    await workspace.save(judgedAs('stopped'))
  }

  async function evaluate(runIds: readonly string[], after: NotRunReason) {
    await workspace.save(judgedAs(after))
    const reevaluation = await reevaluate(experiment, runIds, workspace, places.baseline, hooks)
    return { after, reevaluation }
  }
}

/** A training that does not run cannot be traced. */
function hasBoth({ runs }: Result): boolean {
  return VARIANTS.every((variant) => runs.some((run) => run.variant === variant))
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

/** The next experiment of the call would have the same nodes, or wait in the same queue. */
function problemOf(engine: Engine): Error | null {
  const lost = engine.lost()
  return lost === null
    ? null
    : new RunError(`${lost}. The finished blocks are kept: go on with --resume, in a new allocation`)
}
