// What C++ code and Python's fault handler print when a signal ends their process.
import type { LogLine } from './log-lines.ts'

const TERMINATE = /^(?:libc\+\+abi: )?terminat(?:e called|ing)\b/
const WHAT = /^\s*what\(\): +(.*)$/
/** Of Slurm, and of the kernel where its messages are in the log. */
const OOM_KILL = /\boom[-_ ]?kill|: Out Of Memory$|Out of memory: Killed process/i
const FAULT = /^Current thread 0x[0-9a-f]+ .*\(most recent call first\):$/
const FRAME = /^\s+File "([^"]*)", line (\d+) in (.*)$/
const MAX_CHARACTERS = 500

/** The message of the C++ exception that nothing caught; null without one. */
export function nativeWords(lines: readonly LogLine[]): string | null {
  const position = lines.findLastIndex(({ text }) => TERMINATE.test(text))
  if (position < 0) return null
  const [first, ...next] = lines.slice(position, position + 4).map(({ text }) => text)
  const what = next.flatMap((text) => WHAT.exec(text)?.[1] ?? [])[0]
  return (what ?? first ?? '').slice(0, MAX_CHARACTERS).toWellFormed()
}

/** Who sent SIGKILL, if it was for a lack of memory. */
export function memoryWords(lines: readonly LogLine[]): string | null {
  return lines.findLast(({ text }) => OOM_KILL.test(text))?.text.slice(0, MAX_CHARACTERS) ?? null
}

/** The Python line that was running; null without a fault handler. */
export function faultLocation(lines: readonly LogLine[]): string | null {
  const position = lines.findLastIndex(({ text }) => FAULT.test(text))
  const frame = position < 0 ? null : FRAME.exec(lines[position + 1]?.text ?? '')
  return frame === null ? null : `${frame[1]}, line ${frame[2]}, in ${frame[3]}`.slice(0, MAX_CHARACTERS)
}
