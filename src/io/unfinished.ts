// What the post step needs to know of a main step that was killed: where its result is, and where to say so.
import { join } from 'node:path'
import { z } from 'zod'
import { unjudgedCheck } from '../report/check.ts'
import { withNote } from '../report/progress-note.ts'
import { readRawInputs } from './github/action-inputs.ts'
import { uploadArtifact } from './github/artifact.ts'
import { upsertCheck } from './github/check-run.ts'
import { upsertComment } from './github/comment.ts'
import type { Place } from './github/publish.ts'
import { readState, saveState } from './github/step-state.ts'
import { readText } from './read-text.ts'
import { Workspace } from './workspace.ts'

const STATE = 'unfinished'
const FINISHED = 'none'
const MAX_CHECK_CHARACTERS = 60_000

const unfinished = z.object({
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
  readonly outDirectory: string
  readonly artifactName: string | null
  readonly place: Place | null
}

export function saveUnfinished({ outDirectory, artifactName, place }: Unfinished): void {
  saveState(STATE, JSON.stringify(unfinished.parse({ outDirectory, artifactName, place })))
}

export function saveFinished(): void {
  saveState(STATE, FINISHED)
}

/** Keeps what a killed main step has measured, and ends what it showed as in progress. */
export async function concludeUnfinished(): Promise<void> {
  const state = readState(STATE)
  if (state === '' || state === FINISHED) return
  const { outDirectory, artifactName, place } = unfinished.parse(JSON.parse(state))
  const workspace = new Workspace(outDirectory)
  const report = await readText(join(outDirectory, 'report.md'), 'report.md').catch(() => '')
  if (artifactName !== null && report !== '') {
    const artifact = await uploadArtifact(artifactName, outDirectory, await workspace.artifactFiles())
    console.log(`Speedproof kept what was measured: artifact ${artifactName} ${artifact.status}`)
  }
  if (place === null) return
  const { 'github-token': token = '' } = readRawInputs(['github-token'])
  const target = { ...place, token, name: place.checkName, pullNumber: place.pull?.number ?? null }
  const note = `⏹️ The measurement of ${place.headSha} in [this run](${place.runUrl}) was ended before it was done.`
  const soFar = report === '' ? note : `${note}\n\n${report}`
  const check = unjudgedCheck('cancelled', 'ended before it was done', cut(soFar))
  const [comment, written] = await Promise.all([
    upsertComment(target, (earlier) => withNote(earlier, note)),
    upsertCheck(target, check),
  ])
  console.log(`Speedproof reported the end: comment ${comment.status}, check ${written.status}`)
}

/** A report that is too long for a check is in the artifact. */
function cut(markdown: string): string {
  return markdown.length <= MAX_CHECK_CHARACTERS
    ? markdown
    : `${markdown.slice(0, markdown.lastIndexOf('\n', MAX_CHECK_CHARACTERS))}\n\n</details>`
}
