// The rules of style for texts that a user reads: short sentences, few figures, no private idioms.
import { createRequire } from 'node:module'
import { TextlintKernel, type TextlintRuleModule } from '@textlint/kernel'

// A CommonJS package whose default export Node and vitest import differently.
const markdown = createRequire(import.meta.url)('@textlint/textlint-plugin-markdown').default

export interface Finding {
  readonly line: number
  readonly message: string
}

const MOST_WORDS = 30
const MOST_FIGURES = 2
const IDIOMS =
  /\b(?:beside|(?<!there )is none|mends?|mended|by itself|nobody knows|whoever|lacks? one|(?:is|are|was|were|be|been) told)\b/i
/** A full stop, question or exclamation mark before a space and no lower-case word: "e.g. one" goes on. */
const SENTENCE_END = /(?<=[.!?][)"']?)\s+(?![a-z])/
/** An interval after its estimate, a date, the year of a publication, a version, a number of an issue or pull request. */
const NO_FIGURE = /\b\d{4}-\d\d-\d\d\b|\bv?\d+\.\d+\.\d+\b|#\d+|, (?:19|20)\d\d\)|\(\d\S* to \d\S*\)/g
const NAME_OF_VERSION =
  /\b(?:flashattention|python|pytorch|torch|cuda|node|issue|version|decision|driver)\s+v?\d+(?:\.\d+)*/gi
const FIGURE = /(?<![\w.-])[-+]?\d+(?:[.,]\d+)*/g

export async function lintProse(markdownText: string): Promise<Finding[]> {
  const result = await new TextlintKernel().lintText(markdownText, {
    ext: '.md',
    plugins: [{ pluginId: 'markdown', plugin: markdown }],
    rules: [{ ruleId: 'plain-words', rule: plainWords }],
  })
  return result.messages.map(({ loc, message }) => ({ line: loc.start.line, message }))
}

/** Headings and table cells may be long and full of figures; idioms are wrong everywhere. */
const plainWords: TextlintRuleModule = (context) => {
  const check = (node: Node, limits: { lengths?: boolean; figures?: boolean }) => {
    for (const problem of problemsOf(textOf(node), limits)) {
      context.report(node as never, new context.RuleError(problem))
    }
  }
  return {
    Paragraph: (node) => check(node as Node, {}),
    Header: (node) => check(node as Node, { lengths: false, figures: false }),
    TableCell: (node) => check(node as Node, { lengths: false, figures: false }),
  }
}

/** The figures of a message in code stand in its placeholders, so its caller does not count them. */
export function problemsOf(text: string, { lengths = true, figures = true } = {}): string[] {
  return text.split(SENTENCE_END).flatMap((sentence) => {
    const problems = []
    const idiom = IDIOMS.exec(sentence)
    if (idiom) problems.push(`idiom "${idiom[0]}"`)
    const words = sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
    if (lengths && words > MOST_WORDS) problems.push(`${words} words in a sentence, at most ${MOST_WORDS}`)
    const count = sentence.replace(NO_FIGURE, '').replace(NAME_OF_VERSION, '').match(FIGURE)?.length ?? 0
    if (figures && count > MOST_FIGURES)
      problems.push(`${count} figures in a sentence, at most ${MOST_FIGURES}`)
    return problems.map((problem) => `${problem}: "${sentence.trim().replace(/\s+/g, ' ').slice(0, 60)}"`)
  })
}

interface Node {
  readonly type: string
  readonly value?: string
  readonly children?: readonly Node[]
}

/** Inline code counts as one word and no figure, and may start a sentence; a link counts by its text. */
function textOf(node: Node): string {
  if (node.type === 'Code') return 'Code'
  if (node.type === 'Html' || node.type === 'Image') return ''
  if (node.type === 'Break') return ' '
  return node.value ?? (node.children ?? []).map(textOf).join('')
}
