// What the post step does for a main step that was killed: keeps its result, and says so where it was in progress.
import { lstatSync, readdirSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { z } from 'zod'
import { INPUT_NAMES, type MeasureInputs, parseActionInputs } from '../config/overrides/action-inputs.ts'
import { parseStrictly } from '../config/parse/explain.ts'
import { parseExperiment } from '../config/parse-experiment.ts'
import { messageOf, RunError } from '../errors.ts'
import { isOwnFile, isOwnFolder, isThere } from '../io/folder/own-file.ts'
import { Workspace } from '../io/folder/workspace.ts'
import { readRawInputs } from '../io/github/action-inputs.ts'
import { uploadArtifact } from '../io/github/artifact/artifact.ts'
import { upsertCheck } from '../io/github/report/check-run.ts'
import { upsertComment } from '../io/github/report/comment.ts'
import type { Place } from '../io/github/report/publish.ts'
import { readState, saveState } from '../io/github/step-state.ts'
import { tryParseJson } from '../io/system/parse-json.ts'
import { readText } from '../io/system/read-text.ts'
import { combine, nameOf } from '../record/combined.ts'
import type { Result } from '../record/result.ts'
import { renderCombinedSections } from '../report/combined.ts'
import { unjudgedCheck } from '../report/github/check.ts'
import { fitComment } from '../report/github/comment.ts'
import { withNote } from '../report/github/progress-note.ts'
import { warn } from './announce.ts'
import { judgeApart } from './judge-apart.ts'
import { artifactNameOf, placeOf } from './place.ts'

const STATE = 'unfinished'
const FINISHED = 'none'

/** Place and experiment come from the job itself: a training that can write the state must not choose them. */
const unfinished = z.object({
  /** Milliseconds since 1970; what is older in the folder is of an earlier call. */
  startedAt: z.number(),
})

export function saveUnfinished(startedAt: number): void {
  saveState(STATE, JSON.stringify({ startedAt }))
}

export function saveFinished(): void {
  saveState(STATE, FINISHED)
}

/** Keeps what a killed main step has measured, and ends what it showed as in progress. */
export async function concludeUnfinished(): Promise<void> {
  const state = readState(STATE)
  if (state === '' || state === FINISHED) return
  const { startedAt } = parseStrictly(unfinished, tryParseJson(state), `state ${STATE}`)
  const inputs = parseActionInputs(readRawInputs(INPUT_NAMES))
  if (inputs.job !== 'measure') throw new RunError(`state ${STATE}: is not of a job that reports`)
  const name = await nameInFiles(inputs)
  const outDirectory = resolve(inputs.workingDirectory, inputs.outDirectory)
  const folders = await measuredFolders(outDirectory, startedAt)
  await keepMeasured(artifactNameOf(name, inputs), outDirectory, folders)
  const place = placeOf(name, inputs)
  if (place !== null) await showEnd(place, await reportOf(folders))
}

/** Of all experiments of the call. */
async function nameInFiles({ experimentFiles, workingDirectory, overrides }: MeasureInputs): Promise<string> {
  const experiments = experimentFiles.map(async (file) =>
    parseExperiment(await readText(resolve(workingDirectory, file), file), file, overrides),
  )
  return nameOf(await Promise.all(experiments))
}

async function keepMeasured(
  artifactName: string | null,
  outDirectory: string,
  folders: readonly Workspace[],
): Promise<void> {
  if (artifactName === null || folders.length === 0) return
  const files = await Promise.all(folders.map((folder) => filesBelow(outDirectory, folder)))
  const artifact = await uploadArtifact(artifactName, outDirectory, files.flat())
  if (artifact.status === 'uploaded')
    console.log(`Speedproof kept what was measured: artifact ${artifactName} uploaded`)
  else warn('artifact', `${artifact.reason}; the measurements are only in ${outDirectory}`)
}

/**
 * Rendered anew: a training may have written the report, and what it writes must not become Markdown of ours. '' where
 * nothing can be read.
 */
async function reportOf(folders: readonly Workspace[]): Promise<string> {
  const results: Result[] = []
  for (const { resultFile } of folders) {
    try {
      results.push((await judgeApart({ experiment: null, branch: '', resultFile })).result)
    } catch (error) {
      warn('report', `${messageOf(error)}; the check does not show what was measured`)
    }
  }
  return results.length === 0 ? '' : fitComment(renderCombinedSections(combine(results)))
}

async function showEnd(place: Place, report: string): Promise<void> {
  const target = { ...place, name: place.checkName, pullNumber: place.pull?.number ?? null }
  const note = `⏹️ **${place.checkName}**: The measurement of ${place.headSha} in [this run](${place.runUrl}) was stopped before it finished.`
  const soFar = report === '' ? note : `${note}\n\n${report}`
  const check = unjudgedCheck('cancelled', 'stopped before it finished', soFar)
  const [comment, written] = await Promise.all([
    upsertComment(target, (earlier) => withNote(earlier, note)),
    upsertCheck(target, check),
  ])
  console.log(`Speedproof reported the end: comment ${comment.status}, check ${written.status}`)
}

/** The folder of the experiment, or, of several, those that have measured something. No link is followed. */
async function measuredFolders(outDirectory: string, startedAt: number): Promise<Workspace[]> {
  if (!(await isOwnFolder(outDirectory))) {
    if (isThere(outDirectory))
      warn('artifact', `${outDirectory} is no folder, or a link to one; nothing in it is kept`)
    return []
  }
  const candidates = [outDirectory, ...readdirSync(outDirectory).map((name) => join(outDirectory, name))]
  const isOurs = async (file: string) => (await isOwnFile(file)) && lstatSync(file).mtimeMs >= startedAt
  const found: Workspace[] = []
  for (const directory of candidates) {
    const workspace = new Workspace(directory)
    const { resultFile, reportFile } = workspace
    if ((await isOwnFolder(directory)) && (await isOurs(resultFile)) && (await isOurs(reportFile)))
      found.push(workspace)
  }
  return found
}

async function filesBelow(outDirectory: string, workspace: Workspace): Promise<string[]> {
  const files = await workspace.artifactFiles()
  return files.map((file) => join(relative(outDirectory, workspace.directory), file))
}
