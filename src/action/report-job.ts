// The report job: what another job measured is judged again, by the base branch's experiment and gates, and shown.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Experiment } from '../config/experiment.ts'
import { INPUT_NAMES, parseActionInputs, type ReportInputs } from '../config/overrides/action-inputs.ts'
import { parseExperiment } from '../config/parse-experiment.ts'
import { ConfigError, messageOf, RunError } from '../errors.ts'
import { refuseSurrounding } from '../io/folder/own-folder.ts'
import { Workspace } from '../io/folder/workspace.ts'
import { readRawInputs } from '../io/github/action-inputs.ts'
import { explainGitHubError } from '../io/github/api-error.ts'
import { artifactName } from '../io/github/artifact/artifact.ts'
import {
  downloadArtifact,
  type FoundArtifact,
  findArtifact,
} from '../io/github/artifact/download-artifact.ts'
import { lastBegun } from '../io/github/artifact/last-begun.ts'
import { callGitHub } from '../io/github/client.ts'
import { pathInRepository } from '../io/github/event/base-file.ts'
import { readReportEvent } from '../io/github/event/measuring-run.ts'
import { findReportTarget, type ReportTarget } from '../io/github/event/report-target.ts'
import { publishCombined, show } from '../io/github/report/publish.ts'
import { readState, saveState } from '../io/github/step-state.ts'
import { unpackResult } from '../io/load/unpack-result.ts'
import { combine } from '../record/combined.ts'
import type { Result } from '../record/result.ts'
import { changedConfigsSections } from '../report/github/changed-configs.ts'
import { checkInProgress, unjudgedCheck } from '../report/github/check.ts'
import type { CommentSection } from '../report/github/comment.ts'
import {
  changedExperimentSection,
  judgedBySection,
  measuredRevisionSection,
  unjudgedSection,
} from '../report/github/judged-again.ts'
import type { Links } from '../report/github/sections.ts'
import { announceCombined, announceShown, setOutputs, setUrls, warn } from './announce.ts'
import { compareConfigs } from './compare-configs.ts'
import { judgeWithPage } from './judge-apart.ts'
import { publishPage } from './page.ts'

/** An archive of some hundred MB takes its time. */
const DOWNLOAD_PATIENCE = { attempts: 3, firstDelayMs: 2000, totalMs: 5 * 60_000 }

const BEFORE_THE_END = {
  waiting: 'waits until a maintainer approves the workflow run',
  requested: 'is being measured',
}

/** True if the check says what became of the measurement; the step of the report itself is red only if it does not. */
export async function runReportJob(inputs: ReportInputs): Promise<boolean> {
  saveState(REPORT_STATE, STARTED)
  try {
    const isShown = await reportMeasurement(inputs)
    saveState(REPORT_STATE, FINISHED)
    return isShown
  } catch (error) {
    // Wrong input stays wrong: post would find no place to show it either.
    if (error instanceof ConfigError) saveState(REPORT_STATE, FINISHED)
    throw error
  }
}

/** For the post step: has this job begun to report, and not come to its end? */
export function isReportUnfinished(): boolean {
  return readState(REPORT_STATE) === STARTED
}

/** For the post step: where the report died, an older check of the commit must not stay green. */
export async function concludeDeadReport(): Promise<void> {
  const inputs = parseActionInputs(readRawInputs(INPUT_NAMES))
  if (inputs.job !== 'report') throw new RunError(`state ${REPORT_STATE}: is not of a job that measures`)
  const target = await targetOf(inputs)
  if (target.phase === 'completed')
    await publishUnjudged(target, 'the report job ended before it had a verdict. Re-run it, and see its log')
}

/** What the runner did not end is finished, also where it threw and said so. */
const REPORT_STATE = 'report'
const [STARTED, FINISHED] = ['started', 'finished']

async function targetOf(inputs: ReportInputs): Promise<ReportTarget> {
  const event = readReportEvent(inputs.headSha)
  return await explained(() => findReportTarget(inputs, event, experimentPath(inputs)))
}

function experimentPath({ workingDirectory, experimentFile }: ReportInputs): string {
  return pathInRepository(workingDirectory, experimentFile)
}

async function reportMeasurement(inputs: ReportInputs): Promise<boolean> {
  const target = await targetOf(inputs)
  const { place } = target
  if (target.phase !== 'completed') {
    const check = checkInProgress(BEFORE_THE_END[target.phase], `[Workflow run](${place.runUrl})`)
    const shown = await show({ ...place, pull: null }, [], check)
    const isShown = announceShown(shown)
    setUrls(shown)
    return isShown
  }
  try {
    const source = `${experimentPath(inputs)} of ${target.base.branch}`
    const experiment = parseExperiment(target.base.text, source, inputs.overrides)
    const out = resolve(inputs.workingDirectory, inputs.outDirectory)
    refuseSurrounding(out, resolve(inputs.workingDirectory))
    const workspace = await Workspace.fresh(out)
    const artifact = await fetchResult(inputs, target, experiment, workspace)
    const { result, other, page } = await judgeWithPage({
      experiment,
      branch: target.base.branch,
      resultFile: workspace.resultFile,
    })
    const configs = await compareConfigs(
      inputs,
      place,
      { base: target.base.commit, head: place.headSha },
      experiment,
      result.configs,
    )
    const notes = [
      measuredRevisionSection(result.revision, place.headSha, target.mergeShas),
      ...changedConfigsSections(target.base.branch, configs),
      ...changedExperimentSection(target.base, other.changes),
      judgedBySection(target.base, artifact.name),
    ]
    const link = await publishPage(page, pageName(inputs, experiment))
    if (link.status !== 'uploaded') warn('HTML report', link.reason)
    const links = { artifactUrl: artifact.url, page: link }
    return await publishJudged(target, links, result, notes, workspace)
  } catch (error) {
    // Whatever went wrong, an older check must not stay green.
    if (error instanceof ConfigError || error instanceof RunError)
      return await publishUnjudged(target, error.message)
    await publishUnjudged(target, `Speedproof has a bug: ${messageOf(error)}`)
    saveState(REPORT_STATE, FINISHED)
    throw error
  }
}

/** Without the target there is no place to show anything: the step says what is wrong. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ConfigError || error instanceof RunError) throw error
    throw new RunError(explainGitHubError(error))
  }
}

async function fetchResult(
  inputs: ReportInputs,
  { place, wasCancelled }: ReportTarget,
  { name: experiment }: Experiment,
  workspace: Workspace,
): Promise<FoundArtifact> {
  const { measureJob: job, leg, token } = inputs
  // Re-running another job of the workflow raises the attempt and leaves the artifact of an earlier one. Of a
  // cancelled attempt nothing is known but what it has left itself.
  const earlier = wasCancelled ? 0 : place.runAttempt - 1
  const attempts = Array.from({ length: 1 + earlier }, (_, before) => place.runAttempt - before)
  const namesOf = (of: readonly number[]) =>
    inputs.artifactName
      ? [inputs.artifactName]
      : of.map((attempt) => artifactName({ experiment, job, leg, attempt }))
  const folder = await mkdtemp(join(process.env.RUNNER_TEMP ?? tmpdir(), 'speedproof-artifact-'))
  const archive = join(folder, 'artifact.zip')
  try {
    const artifact = await explained(() =>
      callGitHub(token, async (github) => {
        const begun = place.runAttempt === 1 ? 0 : await lastBegun(github, { ...place, job, leg })
        if (begun === null && inputs.artifactName !== '') throw unknownAttempt(job, place.runId)
        // Not known to have been left by this attempt, it counts only under this attempt's own name.
        const names = namesOf(begun === null ? [place.runAttempt] : attempts)
        return await findArtifact(github, { ...place, names, since: begun ?? 0 })
      }),
    )
    await explained(() =>
      callGitHub(token, (github) => downloadArtifact(github, place, artifact, archive), DOWNLOAD_PATIENCE),
    )
    await unpackResult(archive, workspace.directory)
    return artifact
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A name that the workflow chose does not say which attempt has uploaded it. */
function unknownAttempt(job: string, runId: number): RunError {
  return new RunError(
    `measure-job: GitHub lists no job called ${JSON.stringify(job)} in run ${runId}, so it is unknown which attempt left the artifact. Set measure-job to the name that GitHub shows, or remove name: from the job`,
  )
}

/** Of this run and this attempt: what the measuring job has uploaded is not ours. */
function pageName({ measureJob: job, leg }: ReportInputs, { name: experiment }: Experiment): string {
  return artifactName({ experiment, job, leg, attempt: Number(process.env.GITHUB_RUN_ATTEMPT ?? 1) })
}

async function publishJudged(
  { place }: ReportTarget,
  links: Links,
  result: Result,
  notes: readonly CommentSection[],
  workspace: Workspace,
): Promise<boolean> {
  await workspace.save(result)
  const combined = combine([result])
  announceCombined(combined)
  const published = await publishCombined(place, combined, links, notes)
  for (const reason of published.warnings) warn('acceptance', reason)
  const isShown = announceShown(published)
  const folder = { resultFiles: [workspace.resultFile], reportFile: workspace.reportFile }
  setOutputs(combined, folder, { ...published, artifactUrl: null })
  return isShown
}

/** No artifact, or one that cannot be judged: the check says so, and is no pass. */
async function publishUnjudged({ place, wasCancelled }: ReportTarget, reason: string): Promise<boolean> {
  const section = unjudgedSection(place, reason)
  const check = unjudgedCheck(wasCancelled ? 'cancelled' : 'failure', reason, section.markdown)
  warn('no verdict', reason)
  const shown = await show(place, [section], check)
  const isShown = announceShown(shown)
  setUrls(shown)
  return isShown
}
