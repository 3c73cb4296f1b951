// The hidden first line by which a run finds its comment and learns which run wrote it.

export interface CommentMarker {
  /** One comment per key; two experiments in one pull request have two keys. */
  key: string
  headSha: string
  runId: number
  runAttempt: number
}

const MARKER = /^<!-- speedproof key=(\S+) head=(\S+) run=(\d+) attempt=(\d+) -->$/

export function renderMarker({ key, headSha, runId, runAttempt }: CommentMarker): string {
  // Encoded, a key has neither blanks nor the '>' that would end the HTML comment.
  const [safeKey, safeHead] = [encodeURIComponent(key), encodeURIComponent(headSha)]
  return `<!-- speedproof key=${safeKey} head=${safeHead} run=${runId} attempt=${runAttempt} -->`
}

/** Only the first line counts: a quote of our comment further down is not our comment. */
export function parseMarker(body: string): CommentMarker | null {
  const [firstLine = ''] = body.split(/\r?\n/, 1)
  const [, key, headSha, runId, runAttempt] = MARKER.exec(firstLine) ?? []
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
