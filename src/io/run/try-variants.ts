// Launches each variant once as it is warmed up, whatever becomes of the other: what is wrong is wanted all at once.
import { VARIANTS } from '../../config/experiment.ts'
import { CancelledError } from '../../errors.ts'
import type { Launched } from '../../measure/outcome.ts'
import { isMeasured, planRuns } from '../../plan/plan.ts'
import type { Opened } from '../load/resume.ts'
import { launchRun, type RunHooks } from './launch-run.ts'

/** Throws a CancelledError on a cancel. */
export async function tryVariants(
  {
    request: { experiment },
    places,
    inputs,
    workspace,
  }: Pick<Opened, 'request' | 'places' | 'inputs' | 'workspace'>,
  hooks: RunHooks,
): Promise<Launched[]> {
  const done: Launched[] = []
  for (const run of runsToTry(experiment)) {
    hooks.progress.runStarted(run)
    const { variant } = run
    const training = { experiment, place: places[variant], input: inputs['warm-up'][variant] }
    const launched = await launchRun(run, training, workspace, hooks)
    hooks.progress.runEnded(launched.outcome)
    if (launched.outcome.status === 'cancelled' || hooks.cancelled.aborted)
      throw new CancelledError('cancelled: not both variants were tried')
    done.push(launched)
  }
  return done
}

export function runsToTry(experiment: Opened['request']['experiment']) {
  return planRuns({ ...experiment, design: { ...experiment.design, warm_up_launches: 1 } })
    .filter((run) => !isMeasured(run))
    .slice(0, VARIANTS.length)
}
