// Asks where the head of a pull request is by now: a push during the measurement has moved it since the event.
import { callGitHub } from '../client.ts'
import type { Place } from '../report/publish.ts'
import type { Patience } from '../retry.ts'
import { readPull } from './find-pull.ts'

/** A warning about a stale head is worth little of the time that a cancelled step has. */
const PATIENCE: Patience = { attempts: 1, firstDelayMs: 0, totalMs: 3000 }

/** Without an answer the head stays that of the event: whatever is wrong, the comment says it. */
export async function withPresentHead<Where extends Place>(place: Where): Promise<Where> {
  const { owner, repo, pull, token } = place
  if (pull === null || token === '') return place
  try {
    const { head } = await callGitHub(
      token,
      (github) => readPull(github, { owner, repo }, pull.number),
      PATIENCE,
    )
    return { ...place, pull: { ...pull, headSha: head.sha } }
  } catch {
    return place
  }
}
