// Writes the job summary: the Markdown on the workflow run's page.
import { appendFile, stat } from 'node:fs/promises'
import { messageOf } from './error-message.ts'
import type { Surface } from './surface.ts'

/** Over this, GitHub drops the step's whole summary with an error. */
export const MAX_SUMMARY_BYTES = 1024 * 1024

const CUT_NOTE = '\n\n> The rest is left out: GitHub shows 1 MiB a step. The artifact has all of it.\n'

/** Appends to what the step has written so far; cuts at a line's end where the limit asks for it. */
export async function writeSummary(markdown: string): Promise<Surface> {
  const path = process.env.GITHUB_STEP_SUMMARY
  if (!path) return { status: 'skipped', reason: 'no GITHUB_STEP_SUMMARY: not in a workflow' }
  try {
    const { size } = await stat(path)
    const fitting = cutToBytes(`${markdown}\n`, MAX_SUMMARY_BYTES - size)
    await appendFile(path, fitting.text)
    return { status: 'written', trimmed: fitting.trimmed }
  } catch (error) {
    return { status: 'failed', reason: `job summary: ${messageOf(error)}` }
  }
}

function cutToBytes(text: string, maxBytes: number): { text: string; trimmed: boolean } {
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return { text, trimmed: false }
  const room = maxBytes - Buffer.byteLength(CUT_NOTE)
  if (room <= 0) return { text: '', trimmed: true }
  // A newline byte is never part of a longer UTF-8 character, so a cut there leaves whole characters.
  const lastLineEnd = bytes.lastIndexOf('\n', room)
  return { text: bytes.toString('utf8', 0, Math.max(0, lastLineEnd)) + CUT_NOTE, trimmed: true }
}
