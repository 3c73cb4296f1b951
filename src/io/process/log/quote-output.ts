// Lines of a command's output for an error message: somebody else's text, so none of them may be a command of the runner.
import { sanitizeLine } from '../../system/sanitize.ts'

const MAX_LINES = 20

/** Where the reason stands first, as in a list of problems; '' for no output. */
export function firstLines(output: string): string {
  const lines = linesOf(output)
  const cut = lines.length > MAX_LINES ? [`│ and ${lines.length - MAX_LINES} more lines`] : []
  return [...lines.slice(0, MAX_LINES).map((line) => sanitizeLine(line)), ...cut].join('\n')
}

/** Where the reason stands last, as after a traceback; '' for no output. */
export function lastLines(output: string): string {
  return linesOf(output)
    .slice(-MAX_LINES)
    .map((line) => sanitizeLine(line))
    .join('\n')
}

function linesOf(output: string): string[] {
  return output.trim() === '' ? [] : output.trim().split(/[\r\n]+/)
}
