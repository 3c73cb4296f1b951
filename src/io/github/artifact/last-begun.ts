// Asks GitHub when the measuring job of a run was last begun: what it left before that must not be judged once more.
import type { GitHub, Repository } from '../client.ts'

export interface MeasuringJob extends Repository {
  readonly runId: number
  /** Later ones are of no concern. */
  readonly runAttempt: number
  /** As its workflow calls it. */
  readonly job: string
  /** '' where it is not one of a matrix. */
  readonly leg: string
}

/**
 * In milliseconds since 1970. Null where no job of the run has that name, such as one with a `name:` of its own. Of a
 * job that a later attempt did not run again, GitHub lists the time of the attempt that did.
 */
export async function lastBegun(
  github: GitHub,
  { owner, repo, runId, runAttempt, job, leg }: MeasuringJob,
): Promise<number | null> {
  const jobs = await github.paginate(github.rest.actions.listJobsForWorkflowRun, {
    owner,
    repo,
    run_id: runId,
    filter: 'all',
    per_page: 100,
  })
  const ran = jobs.filter(
    ({ name, run_attempt: attempt = 1, conclusion }) =>
      attempt <= runAttempt && conclusion !== 'skipped' && isCalled(name, job),
  )
  const ofLeg = leg === '' ? [] : ran.filter(({ name }) => name.includes(leg))
  const begun = (ofLeg.length > 0 ? ofLeg : ran).map(({ started_at: time }) => Date.parse(time))
  // Of jobs that cannot be told apart, the one that began last: better no verdict than an old one.
  return begun.length === 0 ? null : Math.max(...begun)
}

/** `measure`; in a called workflow `caller / measure`; in a matrix `measure (leg)`. */
function isCalled(name: string, job: string): boolean {
  const own = name.split(' / ').at(-1) ?? name
  return own === job || own.startsWith(`${job} (`)
}
