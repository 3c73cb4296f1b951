// Do all nodes see the folder of results, and we what they write? Asked before the first launch.
import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError, RunError } from '../../../errors.ts'
import { writeOwnFile } from '../../folder/own-file.ts'
import { readOutput } from '../../system/read-text.ts'
import { plainText } from '../../system/sanitize.ts'
import { answersOf, type StepsOn } from './each-node.ts'

/** A network file system shows what others have written after up to a minute. */
const SEEN_SECONDS = 60
const POLL_MILLISECONDS = 250

/** `paths`: what launches need besides. Throws a ConfigError for what a node does not see. */
export async function requireShared(
  folder: string,
  nodes: readonly string[],
  paths: readonly string[],
  steps: StepsOn,
  cancelled: AbortSignal,
): Promise<void> {
  const nonce = randomUUID()
  const meeting = join(folder, 'seen')
  await mkdir(meeting)
  await writeOwnFile(join(meeting, 'ours'), nonce)
  const answers = await answersOf(nodes, ['see', meeting, nonce, ...paths], steps, {
    timeoutSeconds: SEEN_SECONDS,
    cancelled,
  })
  for (const answer of answers) {
    if (answer.status === 'unreachable')
      throw new RunError(
        `node ${answer.node} cannot be reached: ${plainText(answer.reason)}; see that it runs "${steps.place.python}" and sees ${steps.place.agent}`,
      )
    const missing = [...answer.stdout.matchAll(/^missing (.*)$/gm)].map(([, path]) => path)
    if (missing.length > 0)
      throw new ConfigError(
        `launch.engine: node ${answer.node} does not see ${plainText(missing.join(', '))}. Put the working directory, the folder of results and Speedproof itself on a file system that all nodes share`,
      )
    if (!(await isSeen(join(meeting, answer.node), nonce)))
      throw new ConfigError(
        `out: what node ${answer.node} writes into ${meeting} is not seen here; name a folder with --out that all nodes share`,
      )
  }
}

async function isSeen(file: string, nonce: string): Promise<boolean> {
  const deadline = performance.now() + SEEN_SECONDS * 1000
  while ((await readOutput(file, nonce.length).catch(() => '')) !== nonce) {
    if (performance.now() > deadline) return false
    await sleep(POLL_MILLISECONDS)
  }
  return true
}
