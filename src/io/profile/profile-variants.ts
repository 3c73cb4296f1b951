// Launches each variant once more, traced for a few steps, and has the traces summed up. Nothing is judged by it.
import { VARIANTS, type Variant } from '../../config/experiment.ts'
import { CancelledError, messageOf } from '../../errors.ts'
import { type Profile, type Profiles, unprofiled } from '../../measure/profile/profile.ts'
import { tracedRun } from '../../plan/plan.ts'
import type { Opened } from '../load/resume.ts'
import { runShort } from '../process/short-command.ts'
import { trainerEnvironment } from '../process/trainer-environment.ts'
import { launchRun, type RunHooks } from '../run/launch-run.ts'
import { packageFolder } from '../run/python-package.ts'
import { pythonPath } from '../system/python-path.ts'
import { readProfile } from './read-profiles.ts'

type Question = Pick<Opened, 'request' | 'places' | 'inputs' | 'workspace'>

/** A trace of 500 MB takes under a minute. */
const SUMMARY_SECONDS = 300

/** Null after a cancel: what was measured is whole without it. */
export async function profileVariants(question: Question, hooks: RunHooks): Promise<Profiles> {
  const profiles: Partial<Record<Variant, Profile>> = {}
  for (const variant of VARIANTS) {
    if (hooks.cancelled.aborted) return null
    hooks.progress.note(`tracing a few steps of the ${variant} training`)
    try {
      profiles[variant] = await profileOf(variant, question, hooks)
    } catch (error) {
      if (error instanceof CancelledError || hooks.cancelled.aborted) return null
      profiles[variant] = unprofiled(messageOf(error))
    }
  }
  const { baseline, optimized } = profiles
  return baseline && optimized ? { baseline, optimized } : null
}

async function profileOf(
  variant: Variant,
  { request: { experiment }, places, inputs, workspace }: Question,
  hooks: RunHooks,
): Promise<Profile> {
  const run = tracedRun(variant, experiment.design.seed)
  const place = places[variant]
  await workspace.setAside([run])
  const training = { experiment, place, input: inputs['warm-up'][variant], isTraced: true }
  const { outcome } = await launchRun(run, training, workspace, hooks)
  if (outcome.status === 'cancelled') throw new CancelledError('cancelled: the traces are not whole')
  const ended = outcome.status === 'failed' ? `the traced launch failed: ${outcome.message}` : null
  const files = workspace.runFiles(run)
  const answer = await runShort(
    [pythonPath(place.python, place.workingDirectory), '-m', 'speedproof.profile', files.profileDirectory],
    place.workingDirectory,
    {
      ...trainerEnvironment(process.env, experiment.launch.env),
      PYTHONPATH: packageFolder(),
      CUDA_VISIBLE_DEVICES: '',
    },
    hooks.cancelled,
    SUMMARY_SECONDS,
  )
  const problem =
    answer.status === 'no-answer' ? answer.message : answer.exitCode === 0 ? null : answer.stderr.trim()
  const profile =
    problem === null ? await readProfile(files.profileDirectory) : unprofiled(`no summary: ${problem}`)
  return ended === null ? profile : { ...profile, problems: [ended, ...profile.problems] }
}
