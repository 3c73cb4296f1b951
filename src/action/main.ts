// The action's main step: a job that measures, or one that reports what another has measured.
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { INPUT_NAMES, type MeasureInputs, parseActionInputs } from '../config/overrides/action-inputs.ts'
import { ConfigError } from '../errors.ts'
import type { CombinedFolder } from '../io/folder/combined-folder.ts'
import { PAGE, savePage } from '../io/folder/workspace.ts'
import { readRawInputs } from '../io/github/action-inputs.ts'
import { type ArtifactOutcome, uploadArtifact } from '../io/github/artifact/artifact.ts'
import { restoreCommandFiles, watchCommandFiles } from '../io/github/command-files.ts'
import { readWorkflowRun } from '../io/github/event/event.ts'
import { withPresentHead } from '../io/github/event/present-head.ts'
import { LiveReport } from '../io/github/report/live-report.ts'
import { type Published, publishCombined } from '../io/github/report/publish.ts'
import { saveState } from '../io/github/step-state.ts'
import { noiseFloorFolder } from '../io/load/noise-floors.ts'
import { ProgressView } from '../io/run/progress.ts'
import { ReportedProgress } from '../io/run/reported-progress.ts'
import { cancelOnSignals } from '../io/system/cancel.ts'
import { asInvalid } from '../judge/machine/machine-verdict.ts'
import { main } from '../main.ts'
import { type Combined, combine, isCombinedNeutral } from '../record/combined.ts'
import type { Links } from '../report/github/sections.ts'
import { announceCombined, announceShown, printLines, setInvalid, setOutputs, warn } from './announce.ts'
import { makePageApart } from './judge-apart.ts'
import { type MadePage, pageOf, publishPage } from './page.ts'
import { artifactNameOf, placeOf, whyNotShown } from './place.ts'
import { ALLOCATION_STATE, MARKER_STATE, WORKTREES_STATE } from './post.ts'
import { runReportJob } from './report-job.ts'
import { saveFinished, saveUnfinished } from './unfinished.ts'

/** The post step removes what a killed main step has left; state is text, so every folder is in one. */
function saveWorktree(): (folder: string) => void {
  const folders: string[] = []
  return (folder) => {
    folders.push(folder)
    saveState(WORKTREES_STATE, JSON.stringify(folders))
  }
}

/** True if the step may go green. */
export async function runAction(): Promise<boolean> {
  watchCommandFiles()
  const inputs = parseActionInputs(readRawInputs(INPUT_NAMES))
  if (inputs.job === 'report') return await runReportJob(inputs)
  try {
    return await runMeasureJob(inputs)
  } finally {
    restoreCommandFiles()
  }
}

function requireFolder(workingDirectory: string): string {
  if (statSync(workingDirectory, { throwIfNoEntry: false })?.isDirectory()) return resolve(workingDirectory)
  throw new ConfigError(
    `working-directory: got "${workingDirectory}", which is not a folder in ${process.cwd()}; name one relative to the checkout's root`,
  )
}

/** True if the verdict is passed, may be open, or was accepted for this commit by somebody with write access. */
async function runMeasureJob(inputs: MeasureInputs): Promise<boolean> {
  refuseForkWithToken(inputs)
  const workingDirectory = requireFolder(inputs.workingDirectory)
  const outDirectory = resolve(workingDirectory, inputs.outDirectory)
  const startedAt = Date.now()
  let live: LiveReport | null = null
  let isAccepted = false
  let isValid = true
  const cancelled = cancelOnSignals()
  const combined = await main(
    {
      experimentFiles: inputs.experimentFiles,
      workingDirectory,
      outDirectory,
      overrides: inputs.overrides,
      noiseFloorFolder:
        inputs.noiseFloorFolder === null
          ? noiseFloorFolder(process.env)
          : resolve(workingDirectory, inputs.noiseFloorFolder),
      // A runner's folder is fresh; on a workstation it is the command line that resumes.
      resume: false,
    },
    {
      cancelled,
      progress: (plan, name) => {
        const view = new ProgressView(plan, process.stdout, true)
        const place = placeOf(name, inputs)
        if (place === null) return view
        // One for all experiments of the call.
        live ??= new LiveReport(place)
        return new ReportedProgress(view, live, plan)
      },
      note: printLines,
      onStart: (marker) => {
        saveState(MARKER_STATE, marker)
        saveUnfinished(startedAt)
      },
      onAllocation: (left) => saveState(ALLOCATION_STATE, JSON.stringify(left)),
      onWorktree: saveWorktree(),
      interference: commandFilesTouched,
      publish: async (finished, folder) => {
        const endProgress = async () => await live?.close(cancelled)
        ;({ isAccepted, isValid } = await publish(finished, folder, inputs, { endProgress, cancelled }))
        saveFinished()
      },
    },
  )
  // A process that outlived its launch could write there until now.
  if (isValid) isValid = refuseLate(combined)
  return isValid && (combined.verdict === 'passed' || isCombinedNeutral(combined) || isAccepted)
}

/** The outputs are set already: of several values of one, the runner takes the last. True where nothing was late. */
function refuseLate(combined: Combined): boolean {
  const reason = lateReason(combined)
  if (reason !== null) setInvalid(reason)
  return reason === null
}

function invalidIfLate(combined: Combined): Combined {
  const reason = lateReason(combined)
  if (reason === null) return combined
  return combine(
    combined.results.map((result) => ({ ...result, verdict: asInvalid(result.verdict, [reason]) })),
  )
}

/** Why the verdict does not hold any more: something has written where the runner reads since it was made. */
function lateReason(combined: Combined): string | null {
  const [reason] = combined.verdict === 'invalid' ? [] : commandFilesTouched()
  if (reason !== undefined) warn('verdict', reason)
  return reason ?? null
}

/** What is written there is obeyed by the runner: an output of ours, or the environment of the next steps. */
function commandFilesTouched(): string[] {
  const touched = restoreCommandFiles()
  return touched.length === 0
    ? []
    : [
        `command files: something other than Speedproof changed ${touched.join(', ')} while the trainings ran. It was removed. Find what in the training's code does this`,
      ]
}

/** `pull_request_target` gives a token that writes to a job with a fork's code: none of that code may run in such a job. */
function refuseForkWithToken({ report }: MeasureInputs): void {
  const reading = readWorkflowRun()
  if (report === 'artifact' || reading.status === 'not-in-a-workflow') return
  if (reading.run.eventName !== 'pull_request_target' || !reading.run.isOfFork) return
  throw new ConfigError(
    'report: got "direct" for the pull request of a fork under pull_request_target. Code of the fork could steal the token with write access. Set report: artifact, grant the job only contents: read, and report from another job',
  )
}

/** `isValid`: false where something tampered with the outputs meanwhile. No other trouble here changes the verdict. */
async function publish(
  combined: Combined,
  folder: CombinedFolder,
  inputs: MeasureInputs,
  { endProgress, cancelled }: { endProgress: () => Promise<void>; cancelled: AbortSignal },
): Promise<{ isAccepted: boolean; isValid: boolean }> {
  announceCombined(combined)
  const name = artifactNameOf(combined.name, inputs)
  const page = name === null ? null : await makePage(combined, folder, cancelled)
  const artifact = await upload(name, folder, page?.status === 'made')
  if (artifact.status === 'uploaded') warnLeftOut(artifact.leftOut)
  else if (inputs.artifactName === null)
    printLines('no artifact was uploaded, because artifact-name is "none"')
  else warn('artifact', artifact.reason)
  // What keeps the artifact from being uploaded, keeps the page from it too.
  const link =
    artifact.status === 'uploaded' && page !== null && name !== null ? await publishPage(page, name) : null
  if (link !== null && link.status !== 'uploaded') warn('HTML report', link.reason)
  await endProgress()
  const artifactUrl = artifact.status === 'uploaded' ? artifact.url : null
  // Upload, comment and check take their time.
  const shown = invalidIfLate(combined)
  // A verdict that does not hold any more is not linked.
  const links = { artifactUrl, page: shown === combined ? link : null }
  const published = await showOnGitHub(shown, links, inputs)
  const told = invalidIfLate(shown)
  setOutputs(told, folder, { ...published, artifactUrl })
  return { isAccepted: published?.isAccepted === true, isValid: told === combined }
}

/** In one, since GitHub shows ten warnings of a step, and a trainer may write many checkpoints. */
function warnLeftOut(leftOut: readonly { path: string; reason: string }[]): void {
  if (leftOut.length === 0) return
  const named = leftOut.map(({ path, reason }) => `${path} ${reason}`)
  const count = leftOut.length === 1 ? 'one file was' : `${leftOut.length} files were`
  warn('artifact', `${count} left out, and may still be on the runner's disk: ${named.join('; ')}`)
}

async function upload(
  name: string | null,
  folder: CombinedFolder,
  hasPage: boolean,
): Promise<ArtifactOutcome> {
  if (name === null) return { status: 'not-uploaded', reason: 'not in a workflow' }
  const files = await folder.artifactFiles()
  return uploadArtifact(name, folder.directory, hasPage ? [...files, PAGE] : files)
}

/** From the files, as anybody would make it again; a cancelled step has no time for it. */
async function makePage(
  { verdict }: Combined,
  { directory, resultFiles }: CombinedFolder,
  cancelled: AbortSignal,
): Promise<MadePage> {
  if (cancelled.aborted) return { status: 'not-made', reason: 'the step was cancelled' }
  const page = await makePageApart(resultFiles)
  if (page.status === 'not-made') return page
  if (page.verdict !== verdict)
    return { status: 'not-made', reason: 'the recorded files changed after the verdict' }
  return await pageOf(async () => {
    await savePage(directory, page.text)
    return page
  })
}

/** Null where this job shows nothing there. */
async function showOnGitHub(
  combined: Combined,
  links: Links,
  inputs: MeasureInputs,
): Promise<Published | null> {
  const place = placeOf(combined.name, inputs)
  if (place === null) {
    printLines(`no comment and no check: ${whyNotShown(readWorkflowRun(), inputs)}`)
    return null
  }
  const published = await publishCombined(await withPresentHead(place), combined, links)
  for (const reason of published.warnings) warn('acceptance', reason)
  announceShown(published)
  return published
}
