// Writes the job summary: the Markdown on the workflow run's page.
import { messageOf } from '../../../errors.ts'
import { appendToCommandFile, sizeOfCommandFile } from '../command-files.ts'
import type { Surface } from './surface.ts'

/** Over this, GitHub drops the step's whole summary with an error. */
export const MAX_SUMMARY_BYTES = 1024 * 1024

const CUT_NOTE =
  '\n\n> The rest is cut off: GitHub shows 1 MiB for each step. The artifact has the whole report.\n'

/** Appends to what the step has written so far; cuts at a line's end where the limit asks for it. */
export function writeSummary(markdown: string): Surface {
  if (!process.env.GITHUB_STEP_SUMMARY)
    return { status: 'skipped', reason: 'no GITHUB_STEP_SUMMARY: not in a workflow' }
  try {
    const room = MAX_SUMMARY_BYTES - sizeOfCommandFile('STEP_SUMMARY')
    appendToCommandFile('STEP_SUMMARY', cutToBytes(`${markdown}\n`, room))
    return { status: 'written' }
  } catch (error) {
    return { status: 'failed', reason: `job summary: ${messageOf(error)}` }
  }
}

function cutToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  const room = maxBytes - Buffer.byteLength(CUT_NOTE)
  if (room <= 0) return ''
  return bytes.toString('utf8', 0, cutPosition(bytes, room)) + CUT_NOTE
}

/** The last line's end before the limit; in a line longer than that, the last character's. */
function cutPosition(bytes: Buffer, limit: number): number {
  const lineEnd = bytes.lastIndexOf('\n', limit)
  if (lineEnd > 0) return lineEnd
  let position = limit
  while (((bytes[position] ?? 0) & 0b1100_0000) === 0b1000_0000) position-- // Inside of a UTF-8 character.
  return position
}
