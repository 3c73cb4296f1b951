// Finds out what a report is about: the run that measured, the pull request, the base branch, the place to show it.
import type { ReportInputs } from '../../../config/overrides/action-inputs.ts'
import { parseExperiment } from '../../../config/parse-experiment.ts'
import { RunError } from '../../../errors.ts'
import { checkName } from '../../../report/github/check.ts'
import { keyOf } from '../../../report/github/comment-marker.ts'
import { callGitHub, type GitHub, type Repository } from '../client.ts'
import { findConcludingRun } from '../report/check-run.ts'
import type { Place } from '../report/publish.ts'
import { type BaseFile, readBaseFile } from './base-file.ts'
import { readRunFacts } from './event.ts'
import { findPull, type PullRequest, readPull } from './find-pull.ts'
import type { MeasuringRun, ReportEvent, RunPhase } from './measuring-run.ts'

export interface ReportTarget {
  readonly place: Place
  readonly base: BaseFile
  readonly phase: RunPhase
  readonly wasCancelled: boolean
  /** Merges of this head with its base, which the measuring job may have checked out instead. */
  readonly mergeShas: readonly string[]
}

type RunFacts = ReturnType<typeof readRunFacts>

/** `path`: of the experiment in the repository. Throws when GitHub does not answer, or has no such thing. */
export async function findReportTarget(
  inputs: ReportInputs,
  { run, defaultBranch }: ReportEvent,
  path: string,
): Promise<ReportTarget> {
  const here = readRunFacts()
  const repository = { owner: here.owner, repo: here.repo }
  return await callGitHub(inputs.token, async (github) => {
    const pull = await pullOf(github, repository, run, defaultBranch)
    const baseBranch = pull?.baseBranch ?? queueBaseOf(run) ?? defaultBranch
    const base = await readBaseFile(github, repository, baseBranch, path)
    const headSha = headOf(run, pull)
    const { name } = parseExperiment(base.text, path)
    const key = keyOf(name, inputs.measureJob, inputs.leg)
    const check = checkName(key, baseBranch === defaultBranch ? null : baseBranch)
    const measured = await measuredBy(github, here, run, { headSha, name: check, key })
    return {
      place: {
        ...repository,
        token: inputs.token,
        key,
        checkName: check,
        headSha,
        ...measured,
        runUrl: `${here.serverUrl}/${here.owner}/${here.repo}/actions/runs/${measured.runId}/attempts/${measured.runAttempt}`,
        pull: pull && { number: pull.number, headSha: pull.head.sha },
      },
      base,
      phase: run.kind === 'other run' ? run.phase : 'completed',
      wasCancelled: run.kind === 'other run' && run.conclusion === 'cancelled',
      mergeShas: mergesOf(headSha, pull, here.eventName),
    }
  })
}

/** Of another head, the pull request's present merge says nothing. */
function mergesOf(headSha: string, pull: PullRequest | null, eventName: string): string[] {
  const present = pull?.head.sha === headSha ? pull.mergeSha : null
  // What the jobs of this very run check out, also after the base branch has moved on.
  const ofThisRun = eventName === 'pull_request' ? process.env.GITHUB_SHA : undefined
  return [present, ofThisRun].filter((sha) => typeof sha === 'string')
}

function queueBaseOf(run: MeasuringRun): string | null {
  return run.kind === 'last run' ? null : run.queueBase
}

async function pullOf(
  github: GitHub,
  repository: Repository,
  run: MeasuringRun,
  defaultBranch: string,
): Promise<PullRequest | null> {
  // A merge group may hold several.
  if (queueBaseOf(run) !== null) return null
  if (run.kind === 'other run') return await findPull(github, repository, run.head, defaultBranch)
  if (run.pullNumber !== null) return await readPull(github, repository, run.pullNumber)
  if (run.kind !== 'this run') return null
  return await findPull(
    github,
    repository,
    { sha: run.headSha, repository: null, branch: null },
    defaultBranch,
  )
}

function headOf(run: MeasuringRun, pull: PullRequest | null): string {
  if (run.kind === 'other run') return run.head.sha
  if (run.kind === 'this run') return run.headSha
  if (pull === null) throw new RunError('the comment is not about a pull request')
  return pull.head.sha
}

async function measuredBy(
  github: GitHub,
  { owner, repo, runId, runAttempt }: RunFacts,
  run: MeasuringRun,
  check: { headSha: string; name: string; key: string },
): Promise<{ runId: number; runAttempt: number }> {
  if (run.kind === 'other run') return { runId: run.runId, runAttempt: run.runAttempt }
  if (run.kind === 'this run') return { runId, runAttempt }
  const concluding = await findConcludingRun(github, { owner, repo, ...check })
  if (concluding) return { runId: concluding.runId, runAttempt: concluding.runAttempt }
  throw new RunError(`${check.name}: no run has concluded this check for ${check.headSha} yet`)
}
