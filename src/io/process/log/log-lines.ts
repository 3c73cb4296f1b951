// The last lines of a log as a person sees them: redrawn and without progress bars, each with the rank it names.
import { type FileHandle, open } from 'node:fs/promises'
import { plainText } from '../../system/sanitize.ts'

export interface LogLine {
  /** Of the rank that a prefix names; null without one. */
  readonly rank: number | null
  readonly text: string
}

const MAX_TAIL_BYTES = 256 * 1024
/** Bounds what a pattern can cost on a line of somebody else. */
const MAX_LINE_CHARACTERS = 4096

/** torch's `[rank1]: ` where there is a process group, torchrun's `[default1]:` by --tee, mpirun's by --tag-output, and horovodrun's. */
const PREFIX =
  /^(?:\[(?:rank|default|trainer)(\d{1,6})\]:|(?:\w{3} \w{3} [\d :]{16})?\[(?:\d{1,6},)?(\d{1,6})\]<std(?:err|out)>:) ?/
/** tqdm leaves its line open, so that what is printed next stands behind the bar. */
const BAR = /\d{1,3}%\|[^|]{0,300}\| {0,3}[^ |[\]]{1,40}(?: \[[^\]]{0,200}\])?/g
/** Before the bar stands only its description. */
export const ONLY_BAR = /^[^|]{0,200}?\d{1,3}%\|[^|]{0,300}\| {0,3}[^ |[\]]{1,40}(?: \[[^\]]{0,200}\])?$/

/** None for a log that is absent: nothing was started. */
export async function readLogLines(path: string): Promise<LogLine[]> {
  return linesOf(await readTail(path))
}

/** Nothing goes on across a lone carriage return: what follows is drawn over the line, so an empty one stands between. */
export function linesOf(text: string): LogLine[] {
  const lines = text.split(/\r\n|\n/).flatMap((line) =>
    line
      .split('\r')
      .flatMap((part) => [part, ''])
      .slice(0, -1),
  )
  return lines.map((raw) => {
    const line = withoutBar(plainText(raw.slice(0, MAX_LINE_CHARACTERS)).trimEnd())
    const outer = withoutPrefix({ rank: null, text: line })
    // torchrun's --tee comes before torch's own.
    return outer.rank === null ? outer : withoutPrefix(outer)
  })
}

function withoutPrefix({ rank, text }: LogLine): LogLine {
  const found = PREFIX.exec(text)
  if (found === null) return { rank, text }
  return { rank: Number(found[1] ?? found[2]), text: text.slice(found[0].length) }
}

function withoutBar(line: string): string {
  const bar = [...line.matchAll(BAR)].at(-1)
  const rest = bar === undefined ? line : line.slice(bar.index + bar[0].length)
  return rest.trim() === '' ? line : rest
}

async function readTail(path: string): Promise<string> {
  let file: FileHandle
  try {
    file = await open(path)
  } catch {
    return ''
  }
  try {
    const { size } = await file.stat()
    const wanted = Math.min(size, MAX_TAIL_BYTES)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(wanted), 0, wanted, size - wanted)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}
