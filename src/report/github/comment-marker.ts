// The text by which a run finds its comment and its check again, and learns which run wrote them.

export interface CommentMarker {
  /** One comment and one check per key; two experiments in one pull request have two keys. */
  key: string
  headSha: string
  runId: number
  runAttempt: number
}

const MARKER = /^speedproof key=(\S+) head=(\S+) run=(\d+) attempt=(\d+)$/
const FIRST_LINE = /^<!-- (.+) -->$/

/** Two jobs, or two legs of a matrix, with one experiment are two results. */
export function keyOf(experiment: string, job: string, leg: string): string {
  return [experiment, job, leg].filter((part) => part !== '').join('/')
}

/** One word per part: a check has it as its external id. */
export function markerText({ key, headSha, runId, runAttempt }: CommentMarker): string {
  // Encoded, a key has neither blanks nor the '>' that would end the HTML comment.
  const [safeKey, safeHead] = [encodeURIComponent(key), encodeURIComponent(headSha)]
  return `speedproof key=${safeKey} head=${safeHead} run=${runId} attempt=${runAttempt}`
}

/** The hidden first line of a comment. */
export function renderMarker(marker: CommentMarker): string {
  return `<!-- ${markerText(marker)} -->`
}

/** Only the first line counts: a quote of our comment further down is not our comment. */
export function parseMarker(body: string): CommentMarker | null {
  const [firstLine = ''] = body.split(/\r?\n/, 1)
  return parseMarkerText(FIRST_LINE.exec(firstLine)?.[1] ?? '')
}

export function parseMarkerText(text: string): CommentMarker | null {
  const [, key, headSha, runId, runAttempt] = MARKER.exec(text) ?? []
  if (!key || !headSha) return null
  try {
    return {
      key: decodeURIComponent(key),
      headSha: decodeURIComponent(headSha),
      runId: Number(runId),
      runAttempt: Number(runAttempt),
    }
  } catch {
    return null // A '%' that encodes nothing: not written by us.
  }
}

/** Run ids grow; a re-run keeps its id and has a higher attempt. */
export function isNewer(a: CommentMarker, b: CommentMarker): boolean {
  return a.runId === b.runId ? a.runAttempt > b.runAttempt : a.runId > b.runId
}
