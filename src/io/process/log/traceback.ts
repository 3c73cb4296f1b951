// Reads the exceptions that a log's tracebacks end with: each whole, in their order, with the rank that it names.
import { type LogLine, linesOf } from './log-lines.ts'
import { isOfLauncher, isOfWarning } from './printed-lines.ts'

export interface LoggedException {
  readonly rank: number | null
  /** Class, colon, and the message on one line. */
  readonly text: string
  /** The innermost frame and its source line, where the exception has no text of its own or is one of syntax. */
  readonly location: string | null
}

const MAX_TEXT_CHARACTERS = 500
const MAX_MESSAGE_LINES = 12

const HEADER = /^(?:Original |Exception Group )?Traceback \(most recent call last\):$/
const FRAME = /^\s+File "([^"]*)", line (\d+)(?:, in (.*))?$/
const NAME = /^([A-Za-z_][\w.]*)(?::(?: (.*))?)?$/
/** What is printed without a traceback is taken for an exception by its name alone. torchrun's own says only that a worker failed. */
const BARE = /^(?!.*ChildFailedError)[\w.]*(?:Error|Exception|Interrupt|Exit)(?::.*)?$/
const DIRECT_CAUSE = /^The above exception was the direct cause of the following exception:$/
const CHAIN = /^During handling of the above exception, another exception occurred:$/
/** Python goes on after these. */
const ASIDE = /^(?:Exception ignored in|Exception in thread|Error in atexit\.|--- Logging error ---)/
/** Of logging, below the traceback of an `--- Logging error ---`. */
const CALL_STACK = /^(?:Call stack:|Message: |Arguments: )/
const HINT =
  /^(?:Set (?:TORCH|the environment variable )|You can suppress this exception|CUDA kernel errors might be)|^"""$|^-+$/
/** Of C++, in a message. */
const NATIVE_FRAME = /^(?:Exception raised from |frame #\d+: )/
const OF_SYNTAX = /^(?:Syntax|Indentation|Tab)Error\b/
/** Between lines of one process stand those of another. */
const BREAK = '\0'

/** The last one is the one that counts. Exceptions that Python ignores are left out. */
export function readExceptions(lines: readonly LogLine[]): LoggedException[] {
  return [...sequences(lines)]
    .flatMap(([rank, sequence]) => exceptionsOf(rank, sequence))
    .sort((a, b) => a.end - b.end)
    .map(({ rank, text, location }) => ({ rank, text, location }))
}

/** An exception's own text, as `@record` keeps it; a loader's worker puts a whole traceback into its message. */
export function readMessage(message: string): LoggedException | null {
  return lastException(`Traceback (most recent call last):\n${message}`)
}

export function lastException(traceback: string): LoggedException | null {
  return readExceptions(linesOf(traceback)).at(-1) ?? null
}

/** With tracebacks left empty, up to the first line of each exception: other processes print where its message goes on. */
export function outsideTracebacks(lines: readonly LogLine[]): LogLine[] {
  const inside = new Set<number>()
  for (const sequence of sequences(lines).values()) {
    for (let position = 0; position < sequence.length; position++) {
      if (!isStart(sequence, position)) continue
      const end = exceptionAt(sequence, position)
      for (; position <= end && position < sequence.length; position++)
        inside.add(sequence[position]?.index ?? -1)
      position--
    }
  }
  return lines.map((line, index) => (inside.has(index) ? { ...line, text: '' } : line))
}

interface Found extends LoggedException {
  /** Where in the log it ends. */
  readonly end: number
}

interface NumberedLine {
  readonly text: string
  readonly index: number
}

/** torch puts no prefix before an empty line, so that a prefixed message goes on behind it. */
function sequences(lines: readonly LogLine[]): Map<number | null, NumberedLine[]> {
  const hasGroups = lines.some(({ text }) => text.includes('Exception Group Traceback'))
  const found = new Map<number | null, NumberedLine[]>([[null, []]])
  for (const [index, { rank, text }] of lines.entries()) {
    const own = found.get(rank) ?? []
    own.push({ text: hasGroups ? ungrouped(text) : text, index })
    found.set(rank, own)
    if (rank !== null) found.get(null)?.push({ text: BREAK, index })
  }
  return found
}

/** Python draws lines around the exceptions of a group. */
function ungrouped(text: string): string {
  return /^\s*\+[-+\s\d]*$/.test(text) ? BREAK : text.replace(/^\s+[|+] ?/, '')
}

function exceptionsOf(rank: number | null, lines: readonly NumberedLine[]): Found[] {
  const found: Found[] = []
  const read = new Set<number>()
  let isAside = false
  let cause: Found | null = null
  let position = 0
  while (position < lines.length) {
    const text = lines[position]?.text ?? ''
    if (isStart(lines, position)) {
      const traceback = readTraceback(rank, lines, position)
      for (; position < traceback.next; position++) read.add(position)
      if (traceback.exception !== null && !isAside && !traceback.exception.text.includes('ChildFailedError'))
        found.push(withCause(traceback.exception, cause))
      isAside = false
      cause = null
      continue
    }
    if (ASIDE.test(text) || CALL_STACK.test(text)) isAside = true
    else if (DIRECT_CAUSE.test(text)) cause = found.at(-1) ?? null
    else if (text.trim() !== '' && !CHAIN.test(text)) isAside = false
    position++
  }
  if (found.length > 0) return found
  return bareExceptions(
    rank,
    lines.filter((_, index) => !read.has(index)),
  )
}

/** Python prints no header over an error of syntax in the script itself. */
function isStart(lines: readonly NumberedLine[], position: number): boolean {
  const text = lines[position]?.text ?? ''
  if (HEADER.test(text)) return true
  return FRAME.exec(text)?.[3] === undefined && FRAME.test(text)
}

function readTraceback(
  rank: number | null,
  lines: readonly NumberedLine[],
  start: number,
): { exception: Found | null; next: number } {
  const position = exceptionAt(lines, start)
  const body = lines.slice(start, position).map(({ text }) => text)
  const line = lines[position]
  const named = NAME.exec(line?.text ?? '')
  if (line === undefined || named === null) return { exception: null, next: Math.max(position, start + 1) }
  const below = lines.slice(position + 1, position + 1 + MAX_MESSAGE_LINES)
  // Of two processes, both lines may come after both tracebacks.
  const same = below.findIndex(({ text }) => text === line.text)
  const more = messageLines(same < 0 ? below : below.slice(0, same))
  const message = [named[2] ?? '', ...more].join(' ').replaceAll(/\s+/g, ' ').trim()
  const text = message === '' ? (named[1] ?? '') : `${named[1]}: ${message}`
  const exception = {
    rank,
    text: bounded(text),
    location: message === '' || OF_SYNTAX.test(text) ? locationIn(body) : null,
    end: line.index,
  }
  return { exception, next: position + 1 + more.length }
}

/** Below a traceback's frames, whatever stands there. */
function exceptionAt(lines: readonly NumberedLine[], start: number): number {
  let position = HEADER.test(lines[start]?.text ?? '') ? start + 1 : start
  while (/^\s+\S/.test(lines[position]?.text ?? '')) position++
  return position
}

/** Of the lines below an exception's first one, those that go on with its message. */
function messageLines(lines: readonly NumberedLine[]): string[] {
  const texts = lines.map(({ text }) => text)
  const end = texts.findIndex((text, index) => isBeyond(text, texts[index - 1], texts[index + 1]))
  return end < 0 ? texts : texts.slice(0, end)
}

function isBeyond(text: string, before: string | undefined, after: string | undefined): boolean {
  if (text === BREAK || HEADER.test(text) || CHAIN.test(text) || DIRECT_CAUSE.test(text)) return true
  if (FRAME.test(text) || ASIDE.test(text) || CALL_STACK.test(text)) return true
  if (HINT.test(text) || NATIVE_FRAME.test(text)) return true
  if (isOfLauncher(text) || isOfWarning(text)) return true
  if (text.trim() !== '') return false
  // After an empty line only what is indented still belongs to the message; the first may be empty itself.
  return before !== undefined && !/^\s+\S/.test(after ?? '')
}

function locationIn(body: readonly string[]): string | null {
  const position = body.findLastIndex((line) => FRAME.test(line))
  const frame = FRAME.exec(body[position] ?? '')
  if (frame === null) return null
  const [, file, line, name] = frame
  const source = body[position + 1]?.trim() ?? ''
  const place = `${file}, line ${line}${name === undefined ? '' : `, in ${name}`}`
  return bounded(source === '' ? place : `${place}: ${source}`)
}

function withCause(exception: Found, cause: Found | null): Found {
  // A pool of processes raises the same exception again.
  if (cause === null || exception.text.includes(messageOf(cause.text))) return exception
  return { ...exception, text: bounded(`${exception.text} (caused by ${cause.text})`) }
}

function messageOf(text: string): string {
  return text.slice(text.indexOf(': ') + 1).trim()
}

function bareExceptions(rank: number | null, lines: readonly NumberedLine[]): Found[] {
  return lines
    .filter(({ text }) => BARE.test(text))
    .map(({ text, index }) => ({ rank, text: bounded(text.trim()), location: null, end: index }))
}

function bounded(text: string): string {
  return text.length > MAX_TEXT_CHARACTERS ? `${text.slice(0, MAX_TEXT_CHARACTERS).toWellFormed()} …` : text
}
