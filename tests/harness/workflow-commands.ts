// Reads a step's log as the runner does: which lines are commands, and what they ask for.
// Rules after ActionCommand.cs and ActionCommandManager.cs of github.com/actions/runner.

export interface WorkflowCommand {
  name: string
  properties: Record<string, string>
  data: string
}

const KNOWN = new Set([
  ...['debug', 'notice', 'warning', 'error', 'group', 'endgroup', 'echo', 'add-mask', 'stop-commands'],
  ...['set-output', 'save-state', 'set-env', 'add-path', 'add-matcher', 'remove-matcher'],
])

/** Decodes in the runner's order: the percent sign last, so that '%250A' stays the text '%0A'. */
const ESCAPES = {
  data: [
    ['%0D', '\r'],
    ['%0A', '\n'],
    ['%25', '%'],
  ],
  property: [
    ['%0D', '\r'],
    ['%0A', '\n'],
    ['%3A', ':'],
    ['%2C', ','],
    ['%25', '%'],
  ],
  old: [
    ['%3B', ';'],
    ['%0D', '\r'],
    ['%0A', '\n'],
    ['%5D', ']'],
    ['%25', '%'],
  ],
} as const

/** `extra`: the token that resumes commands after `stop-commands`. */
export function parseCommand(line: string, extra: string | null = null): WorkflowCommand | null {
  const isKnown = (name: string) => KNOWN.has(name.toLowerCase()) || name === extra
  return parseDoubleColon(line.trimStart(), isKnown) ?? parseBracket(line, isKnown)
}

/** `::name key=value,key=value::data`, at the start of a line. */
function parseDoubleColon(line: string, isKnown: (name: string) => boolean): WorkflowCommand | null {
  const end = line.startsWith('::') ? line.indexOf('::', 2) : -1
  if (end < 0) return null
  const [name, properties] = splitOnce(line.slice(2, end), ' ')
  if (!isKnown(name)) return null
  return {
    name: name.toLowerCase(),
    properties: parseProperties(properties.trim(), ',', 'property'),
    data: decode(line.slice(end + 2), 'data'),
  }
}

/** `##[name key=value;key=value]data`, anywhere in a line. */
function parseBracket(line: string, isKnown: (name: string) => boolean): WorkflowCommand | null {
  const start = line.indexOf('##[')
  const end = start < 0 ? -1 : line.indexOf(']', start)
  if (end < 0) return null
  const [name, properties] = splitOnce(line.slice(start + 3, end), ' ')
  if (!isKnown(name)) return null
  return {
    name: name.toLowerCase(),
    properties: parseProperties(properties, ';', 'old'),
    data: decode(line.slice(end + 1), 'old'),
  }
}

function parseProperties(
  text: string,
  separator: string,
  kind: keyof typeof ESCAPES,
): Record<string, string> {
  const pairs = text.split(separator).map((pair) => splitOnce(pair, '='))
  return Object.fromEntries(
    pairs.filter(([key, value]) => key && value).map(([k, v]) => [k, decode(v, kind)]),
  )
}

function decode(text: string, kind: keyof typeof ESCAPES): string {
  return ESCAPES[kind].reduce((result, [code, character]) => result.replaceAll(code, character), text)
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)]
}
