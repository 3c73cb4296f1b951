// The action's main step: the story told in a workflow, with every place that a reader may look at.
import { resolve } from 'node:path'
import { type ActionInputs, INPUT_NAMES, parseActionInputs } from '../config/action-inputs.ts'
import { main } from '../main.ts'
import { fitComment } from '../report/comment.ts'
import { oneLine } from '../report/escape.ts'
import { renderMarkdown, renderSections } from '../report/markdown.ts'
import { verdictOutputs } from '../report/outputs.ts'
import type { Result } from '../report/result.ts'
import { renderTerminal } from '../report/terminal.ts'
import { cancelOnSignals } from './cancel.ts'
import { readRawInputs } from './github/action-inputs.ts'
import { annotate } from './github/annotations.ts'
import { type ArtifactOutcome, artifactName, uploadArtifact } from './github/artifact.ts'
import { type CommentOutcome, upsertComment } from './github/comment.ts'
import { readWorkflowRun } from './github/event.ts'
import { writeSummary } from './github/job-summary.ts'
import { writeOutputs } from './github/outputs.ts'
import { saveState } from './github/step-state.ts'
import type { Surface } from './github/surface.ts'
import { noiseFloorFolder } from './noise-floors.ts'
import { plainText } from './process/sanitize.ts'
import { ProgressView } from './progress.ts'
import { worktreesText } from './revisions/saved-worktrees.ts'
import type { Workspace } from './workspace.ts'

/** State under which the post step finds the processes of a launch that outlived us. */
export const MARKER_STATE = 'marker'
/** State under which it finds the worktrees that were not removed. */
export const WORKTREES_STATE = 'worktrees'

/** Its post step removes what a killed main step has left; state is text, so every folder is in one. */
function saveWorktree(workingDirectory: string): (folder: string) => void {
  const folders: string[] = []
  return (folder) => {
    folders.push(folder)
    saveState(WORKTREES_STATE, worktreesText({ workingDirectory, folders }))
  }
}

/** True if the verdict lets the step go green. */
export async function runAction(): Promise<boolean> {
  const inputs = parseActionInputs(readRawInputs(INPUT_NAMES))
  const workingDirectory = resolve(inputs.workingDirectory)
  const result = await main(
    {
      experimentFile: inputs.experimentFile,
      workingDirectory,
      outDirectory: resolve(workingDirectory, inputs.outDirectory),
      overrides: inputs.overrides,
      noiseFloorFolder:
        inputs.noiseFloorFolder === null
          ? noiseFloorFolder(process.env)
          : resolve(workingDirectory, inputs.noiseFloorFolder),
      // A runner's folder is fresh; on a workstation it is the command line that resumes.
      resume: false,
    },
    {
      cancelled: cancelOnSignals(),
      progress: (plan) => new ProgressView(plan, process.stdout, true),
      note: printLines,
      onStart: (marker) => saveState(MARKER_STATE, marker),
      onWorktree: saveWorktree(workingDirectory),
      publish: (finished, workspace) => publish(finished, workspace, inputs),
    },
  )
  return result.verdict.verdict === 'passed'
}

/** What is quickest and surest comes first: a cancelled step has seconds. No trouble here changes the verdict. */
async function publish(result: Result, workspace: Workspace, inputs: ActionInputs): Promise<void> {
  printLines(renderTerminal(result))
  const files = { 'result-file': workspace.resultFile, 'report-file': workspace.reportFile }
  warnOf(
    'outputs',
    writeOutputs({ ...verdictOutputs(result), ...files, 'artifact-url': '', 'comment-url': '' }),
  )
  warnOf('job summary', await writeSummary(renderMarkdown(result)))
  annotate([verdictAnnotation(result)])

  const artifact = await upload(result, workspace, inputs)
  if (artifact.status === 'uploaded') {
    writeOutputs({ 'artifact-url': artifact.url })
    for (const { path, reason } of artifact.leftOut) warn('artifact', `${path} was left out: ${reason}`)
  } else if (inputs.artifactName === null) printLines('no artifact: artifact-name is none')
  else warn('artifact', artifact.reason)

  const comment = await writeComment(result, artifact, inputs)
  if ('url' in comment) writeOutputs({ 'comment-url': comment.url })
  else if (comment.status === 'failed') warn('comment', comment.reason)
  else printLines(`no comment: ${comment.reason}`)
}

async function upload(
  { experiment }: Result,
  workspace: Workspace,
  inputs: ActionInputs,
): Promise<ArtifactOutcome> {
  if (inputs.artifactName === null) return { status: 'not-uploaded', reason: 'artifact-name is none' }
  const reading = readWorkflowRun()
  if (reading.status === 'not-in-a-workflow') return { status: 'not-uploaded', reason: reading.reason }
  const { job, runAttempt } = reading.run
  const parts = { experiment: experiment.name, job, attempt: runAttempt, leg: inputs.leg }
  const name = inputs.artifactName || artifactName(parts)
  return uploadArtifact(name, workspace.directory, await workspace.artifactFiles())
}

async function writeComment(
  result: Result,
  artifact: ArtifactOutcome,
  inputs: ActionInputs,
): Promise<CommentOutcome> {
  if (inputs.report === 'artifact') return { status: 'skipped', reason: 'report is artifact' }
  const reading = readWorkflowRun()
  if (reading.status === 'not-in-a-workflow') return { status: 'skipped', reason: reading.reason }
  const { run } = reading
  const artifactLink = artifact.status === 'uploaded' ? ` · [artifact](${artifact.url})` : ''
  const links = {
    kind: 'link' as const,
    title: 'links',
    markdown: `[Workflow run](${run.runUrl})${artifactLink} · measured at ${run.headSha}`,
  }
  const body = fitComment([...renderSections(result), links])
  // Two jobs, or two legs of a matrix, with one experiment are two results.
  const key = [result.experiment.name, run.job, inputs.leg].filter((part) => part !== '').join('/')
  return upsertComment({ ...run, key, token: inputs.token }, body)
}

function verdictAnnotation({ experiment, verdict }: Result) {
  const level = verdict.verdict === 'passed' ? ('notice' as const) : ('error' as const)
  return {
    level,
    title: `Speedproof: ${experiment.name} ${verdict.verdict}`,
    message: oneLine(verdict.reason),
  }
}

/** The text may quote the trainer: something visible at its start keeps a line from being a command of the runner. */
function printLines(text: string): void {
  for (const line of text.split('\n')) process.stdout.write(`│ ${plainText(line)}\n`)
}

function warnOf(place: string, surface: Surface): void {
  if (surface.status === 'failed') warn(place, surface.reason)
}

function warn(place: string, reason: string): void {
  annotate([{ level: 'warning', title: `Speedproof: ${place}`, message: reason }])
}
