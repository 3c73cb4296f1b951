// What a program itself printed last, without the words of its launcher, warnings and progress bars.
import { type LogLine, ONLY_BAR } from './log-lines.ts'

const MAX_LINES = 3
const MAX_CHARACTERS = 500

const OF_TORCHRUN =
  /^[EWI]\d{4} \S+ \d+ \S*\btorch\/distributed\/|^\*+$|^Setting OMP_NUM_THREADS environment variable /
/** With the first it ends since a worker failed, with the second since we or somebody else ended it. */
const OF_AGENT = /\.(?:ChildFailedError|SignalException):/
const TRACEBACK = /^Traceback \(most recent call last\):$/
/** Of an `--- Logging error ---`, which ends nothing. */
const OF_LOGGING = /^(?:Call stack:$|Message: |Arguments: )/
/** What libraries say at any end, and what goes on from the line before. */
const WARNING = /Warning: |^\[[WI]\d{4} |^\[[WI]|^Exception ignored in/

export function isOfLauncher(text: string): boolean {
  return OF_TORCHRUN.test(text)
}

export function isOfWarning(text: string): boolean {
  return WARNING.test(text)
}

/** Up to three lines of one block, such as the reason for an exit; null without one. `rank`: the only one whose lines are taken. */
export function lastPrinted(lines: readonly LogLine[], rank: number | null = null): string | null {
  const own = beforeReport(lines)
    .filter((line) => rank === null || line.rank === null || line.rank === rank)
    .map(({ text }) => text)
  const withoutBars = own.filter((text) => !ONLY_BAR.test(text))
  const bars = own.map((text) => text.trim()).filter((text) => ONLY_BAR.test(text))
  const block = withoutBars.some(isReason) ? lastBlock(withoutBars) : bars.slice(-1)
  // Two ranks may say the same.
  const different = block.filter((text, index) => !block.includes(text, index + 1))
  return different.length === 0 ? null : different.join(' / ').slice(-MAX_CHARACTERS).toWellFormed()
}

/** Lines right below each other. */
function lastBlock(texts: readonly string[]): string[] {
  const last = texts.findLastIndex(isReason)
  let first = last
  while (first > 0 && last - first < MAX_LINES - 1 && isReason(texts[first - 1] ?? '')) {
    // What stands below a traceback or an indented block ends it.
    if (/^\s+\S/.test(texts[first - 2] ?? '')) break
    first--
  }
  return last < 0 ? [] : texts.slice(first, last + 1)
}

/** For a person who tries a training: line by line. */
export function lastLines(lines: readonly LogLine[], most: number): string[] {
  const shown = lines.filter(({ text }) => text.trim() !== '' && !isOfLauncher(text))
  return shown
    .slice(-most)
    .map(({ rank, text }) => `${rank === null ? '' : `[rank${rank}]: `}${text}`.slice(0, MAX_CHARACTERS))
}

function isReason(text: string): boolean {
  if (isOfLauncher(text) || isOfWarning(text)) return false
  return !TRACEBACK.test(text) && !OF_LOGGING.test(text) && !/^\s|^$/.test(text)
}

/** What stands above torchrun's own traceback. */
export function beforeReport(lines: readonly LogLine[]): readonly LogLine[] {
  const failed = lines.findLastIndex(({ text }) => OF_AGENT.test(text))
  const start = lines.slice(0, Math.max(failed, 0)).findLastIndex(({ text }) => TRACEBACK.test(text))
  return start < 0 ? lines : lines.slice(0, start)
}
