// The comment by which a maintainer accepts a verdict, written and read.

/** What an acceptance is for: another measurement, and another gate that is missed, need another one. */
export interface AcceptedVerdict {
  readonly key: string
  readonly headSha: string
  readonly runId: number
  readonly runAttempt: number
  /** Names of the gates that were missed or open. */
  readonly gates: readonly string[]
}

export interface AcceptanceComment extends AcceptedVerdict {
  readonly reason: string
}

// The whole commit: of seven digits, somebody could push another one that begins like them.
const COMMAND = /^\/speedproof accept (\S+) ([0-9a-f]{40}) (\d{1,15})\.(\d{1,9}) (\S+) +(\S.*)$/
const MAX_REASON_CHARACTERS = 500

export function acceptCommand({ key, headSha, runId, runAttempt, gates }: AcceptedVerdict): string {
  const names = gates.map(encodeURIComponent).join(',')
  return `/speedproof accept ${encodeURI(key)} ${headSha} ${runId}.${runAttempt} ${names} REASON`
}

/** Only the first line counts, and the reason has to be one: not the word that stands for it. */
export function parseAcceptance(body: string): AcceptanceComment | null {
  const [firstLine = ''] = body.split(/\r?\n/, 1)
  const [, key, headSha, runId, runAttempt, gates = '', reason = ''] = COMMAND.exec(firstLine.trimEnd()) ?? []
  if (!key || !headSha || reason === 'REASON') return null
  try {
    return {
      key: decodeURI(key),
      headSha,
      runId: Number(runId),
      runAttempt: Number(runAttempt),
      gates: gates.split(',').map(decodeURIComponent),
      reason: reason.slice(0, MAX_REASON_CHARACTERS).toWellFormed(),
    }
  } catch {
    return null // A '%' that encodes nothing: not copied from our line.
  }
}

/** Of the same measurement, and of every gate that is missed now: those of the base branch may have changed since. */
export function accepts(found: AcceptedVerdict, verdict: AcceptedVerdict): boolean {
  return (
    found.key === verdict.key &&
    found.headSha === verdict.headSha &&
    found.runId === verdict.runId &&
    found.runAttempt === verdict.runAttempt &&
    verdict.gates.every((gate) => found.gates.includes(gate))
  )
}
