// Uploads a folder as an artifact of the workflow run, where there is a back end that takes it.
import { createHash } from 'node:crypto'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../../errors.ts'
import { type ArtifactFiles, chooseArtifactFiles } from './artifact-files.ts'

export type ArtifactOutcome =
  | { status: 'uploaded'; id: number; bytes: number; url: string; leftOut: ArtifactFiles['leftOut'] }
  | { status: 'not-uploaded'; reason: string }

// The library retries failed calls on its own, without a limit that could be set.
const UPLOAD_TIMEOUT_MS = 10 * 60_000

/**
 * Names are immutable, see artifactName(). Files are paths under the root.
 * Never throws: the result is in the summary as well, and on disk.
 * After a timeout the library may still be trying: end the process with an explicit exit.
 */
export async function uploadArtifact(
  name: string,
  rootDirectory: string,
  files: readonly string[],
  timeoutMs = UPLOAD_TIMEOUT_MS,
): Promise<ArtifactOutcome> {
  const obstacle = findObstacle()
  if (obstacle !== null) return { status: 'not-uploaded', reason: obstacle }
  try {
    const chosen = await chooseArtifactFiles(rootDirectory, files)
    if (chosen.files.length === 0) {
      return { status: 'not-uploaded', reason: `artifact "${name}": no file to upload in "${rootDirectory}"` }
    }
    const { id, size } = await withTimeout(upload(name, chosen.files, rootDirectory), timeoutMs)
    if (id === undefined) throw new Error('the service named no id')
    return { status: 'uploaded', id, bytes: size ?? 0, url: artifactUrl(id), leftOut: chosen.leftOut }
  } catch (error) {
    return { status: 'not-uploaded', reason: `artifact "${name}": ${messageOf(error)}${remedy(error)}` }
  }
}

export type PageOutcome = { status: 'uploaded'; url: string } | { status: 'not-uploaded'; reason: string }

const PAGE_TIMEOUT_MS = 60_000

/** As it is, not in an archive, so that a browser shows it; its name is that of the file. Never throws. */
export async function uploadPage(file: string, timeoutMs = PAGE_TIMEOUT_MS): Promise<PageOutcome> {
  const obstacle = findObstacle()
  if (obstacle !== null) return { status: 'not-uploaded', reason: obstacle }
  try {
    const { id } = await withTimeout(upload(basename(file), [file], dirname(file), true), timeoutMs)
    if (id === undefined) throw new Error('the service named no id')
    return { status: 'uploaded', url: artifactUrl(id) }
  } catch (error) {
    const name = basename(file)
    return { status: 'not-uploaded', reason: `artifact "${name}": ${messageOf(error)}${remedy(error)}` }
  }
}

/** Of the job that measures, unless it is named otherwise. */
const USUAL_JOB = 'measure'

/** Unique in a run: every attempt and every leg of a matrix needs its own. `leg` is the leg's own text, if any. */
export function artifactName({
  experiment,
  job,
  attempt,
  leg = '',
}: {
  experiment: string
  job: string
  attempt: number
  leg?: string
}): string {
  const parts = [experiment, job, leg].filter((part) => part !== '')
  const spelled = parts.map((part) => part.replace(/[^A-Za-z0-9._=-]+/g, '-'))
  const isPlain = spelled.every((part, index) => part === parts[index]) && isReadOneWay(experiment, job, leg)
  return ['speedproof', ...spelled, ...(isPlain ? [] : [shortHash(parts)]), `attempt-${attempt}`].join('-')
}

/** Joined, the parts can be told apart again: by the usual job, once among the words, or without it by the last word. */
function isReadOneWay(experiment: string, job: string, leg: string): boolean {
  const usual = [experiment, job, leg]
    .join('-')
    .split('-')
    .filter((word) => word === USUAL_JOB)
  if (job === USUAL_JOB) return usual.length === 1
  return usual.length === 0 && leg === '' && !job.includes('-')
}

function shortHash(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 8)
}

function findObstacle(): string | null {
  const { ACTIONS_RESULTS_URL, ACTIONS_RUNTIME_TOKEN, GITHUB_SERVER_URL } = process.env
  if (!ACTIONS_RESULTS_URL || !ACTIONS_RUNTIME_TOKEN) {
    return 'no artifact service (ACTIONS_RESULTS_URL, ACTIONS_RUNTIME_TOKEN): not in a workflow'
  }
  if (!hasArtifacts(GITHUB_SERVER_URL)) {
    return `${GITHUB_SERVER_URL} is a GitHub Enterprise Server, which has no service for these artifacts`
  }
  return null
}

/** github.com and its data-residency hosts have the service. */
function hasArtifacts(serverUrl = 'https://github.com'): boolean {
  const host = URL.parse(serverUrl)?.hostname ?? ''
  return host === 'github.com' || host.endsWith('.ghe.com') || host.endsWith('.localhost')
}

async function upload(name: string, files: string[], rootDirectory: string, skipArchive = false) {
  // Half of the action's start-up time is this import, and most calls of the command line never need it.
  const { DefaultArtifactClient } = await import(/* webpackMode: "eager" */ '@actions/artifact')
  return await new DefaultArtifactClient().uploadArtifact(name, files, rootDirectory, { skipArchive })
}

async function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  const timer = new AbortController()
  const timeout = sleep(timeoutMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`gave up after ${timeoutMs / 1000} s`)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    timer.abort()
  }
}

function remedy(error: unknown): string {
  return messageOf(error).includes('(409)')
    ? '. Another artifact of this workflow run has this name. Set the input leg to another value in each matrix job'
    : ''
}

function artifactUrl(id: number): string {
  const { GITHUB_SERVER_URL = 'https://github.com', GITHUB_REPOSITORY, GITHUB_RUN_ID } = process.env
  return `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/actions/runs/${GITHUB_RUN_ID}/artifacts/${id}`
}
