// What the post step needs to know of a main step that was killed: where its result is, and where to say so.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { z } from 'zod'
import { Workspace } from '../io/folder/workspace.ts'
import { readRawInputs } from '../io/github/action-inputs.ts'
import { uploadArtifact } from '../io/github/artifact/artifact.ts'
import { upsertCheck } from '../io/github/report/check-run.ts'
import { upsertComment } from '../io/github/report/comment.ts'
import type { Place } from '../io/github/report/publish.ts'
import { readState, saveState } from '../io/github/step-state.ts'
import { readText } from '../io/system/read-text.ts'
import { unjudgedCheck } from '../report/github/check.ts'
import { withNote } from '../report/github/progress-note.ts'
import { warn } from './announce.ts'

const STATE = 'unfinished'
const FINISHED = 'none'
const MAX_CHECK_CHARACTERS = 60_000

const unfinished = z.object({
  /** Milliseconds since 1970; what is older in the folder is of an earlier call. */
  startedAt: z.number(),
  outDirectory: z.string(),
  /** Null uploads nothing. */
  artifactName: z.string().nullable(),
  /** Without its token, which is an input of post too. Null shows nothing. */
  place: z
    .object({
      owner: z.string(),
      repo: z.string(),
      key: z.string(),
      checkName: z.string(),
      headSha: z.string(),
      runId: z.number(),
      runAttempt: z.number(),
      runUrl: z.string(),
      pull: z.object({ number: z.number(), headSha: z.string() }).nullable(),
    })
    .nullable(),
})

export interface Unfinished {
  readonly startedAt: number
  readonly outDirectory: string
  readonly artifactName: string | null
  readonly place: Place | null
}

export function saveUnfinished(left: Unfinished): void {
  saveState(STATE, JSON.stringify(unfinished.parse(left)))
}

export function saveFinished(): void {
  saveState(STATE, FINISHED)
}

/** Keeps what a killed main step has measured, and ends what it showed as in progress. */
export async function concludeUnfinished(): Promise<void> {
  const state = readState(STATE)
  if (state === '' || state === FINISHED) return
  const { startedAt, outDirectory, artifactName, place } = unfinished.parse(JSON.parse(state))
  const folders = measuredFolders(outDirectory, startedAt)
  const reports = await Promise.all(folders.map(({ reportFile }) => readText(reportFile, 'report.md')))
  const report = reports.join('\n')
  if (artifactName !== null && folders.length > 0) {
    const files = await Promise.all(folders.map((folder) => filesBelow(outDirectory, folder)))
    const artifact = await uploadArtifact(artifactName, outDirectory, files.flat())
    if (artifact.status === 'uploaded')
      console.log(`Speedproof kept what was measured: artifact ${artifactName} uploaded`)
    else warn('artifact', `${artifact.reason}; the measurements are only in ${outDirectory}`)
  }
  if (place === null) return
  const { 'github-token': token = '' } = readRawInputs(['github-token'])
  const target = { ...place, token, name: place.checkName, pullNumber: place.pull?.number ?? null }
  const note = `⏹️ **${place.checkName}**: The measurement of ${place.headSha} in [this run](${place.runUrl}) was stopped before it finished.`
  const soFar = report === '' ? note : `${note}\n\n${report}`
  const check = unjudgedCheck('cancelled', 'stopped before it finished', cut(soFar))
  const [comment, written] = await Promise.all([
    upsertComment(target, (earlier) => withNote(earlier, note)),
    upsertCheck(target, check),
  ])
  console.log(`Speedproof reported the end: comment ${comment.status}, check ${written.status}`)
}

/** The folder of the experiment, or, of several, those that have measured something. */
function measuredFolders(outDirectory: string, startedAt: number): Workspace[] {
  const isOurs = (file: string) => existsSync(file) && statSync(file).mtimeMs >= startedAt
  const below = existsSync(outDirectory) ? readdirSync(outDirectory) : []
  const candidates = [outDirectory, ...below.map((name) => join(outDirectory, name))]
  return candidates
    .map((directory) => new Workspace(directory))
    .filter(({ resultFile, reportFile }) => isOurs(resultFile) && isOurs(reportFile))
}

async function filesBelow(outDirectory: string, workspace: Workspace): Promise<string[]> {
  const files = await workspace.artifactFiles()
  return files.map((file) => join(relative(outDirectory, workspace.directory), file))
}

/** A report that is too long for a check is in the artifact. */
function cut(markdown: string): string {
  return markdown.length <= MAX_CHECK_CHARACTERS
    ? markdown
    : `${markdown.slice(0, markdown.lastIndexOf('\n', MAX_CHECK_CHARACTERS))}\n\n</details>`
}
