// The comment by which a maintainer accepts a verdict, written and read.

/** Bound to one commit: a push later, it means nothing any more. */
export interface AcceptanceComment {
  readonly key: string
  readonly headSha: string
  readonly reason: string
}

// The whole commit: of seven digits, somebody could push another one that begins like them.
const COMMAND = /^\/speedproof accept (\S+) ([0-9a-f]{40}) +(\S.*)$/
const MAX_REASON_CHARACTERS = 500

export function acceptCommand(key: string, headSha: string): string {
  return `/speedproof accept ${encodeURI(key)} ${headSha} REASON`
}

/** Only the first line counts, and the reason has to be one: not the word that stands for it. */
export function parseAcceptance(body: string): AcceptanceComment | null {
  const [firstLine = ''] = body.split(/\r?\n/, 1)
  const [, key, headSha, reason = ''] = COMMAND.exec(firstLine.trimEnd()) ?? []
  if (!key || !headSha || reason === 'REASON') return null
  try {
    return { key: decodeURI(key), headSha, reason: reason.slice(0, MAX_REASON_CHARACTERS).toWellFormed() }
  } catch {
    return null // A '%' that encodes nothing: not copied from our line.
  }
}
