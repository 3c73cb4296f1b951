// Finds the texts in source code and action files that a user may read, so that the rules of prose apply to them too.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { parseAst } from 'vite'
import { isScalar, parseDocument, visit } from 'yaml'

export interface Message {
  readonly path: string
  readonly line: number
  readonly text: string
}

const LEAST_WORDS = 5
const PYTHON = join(import.meta.dirname, '../../.venv/bin/python')

interface Node {
  readonly type: string
  readonly start: number
  readonly value?: unknown
  readonly operator?: string
  readonly left?: Node
  readonly right?: Node
  readonly name?: string
  readonly tag?: Node
  readonly quasi?: Node
  readonly expressions?: readonly Node[]
  readonly quasis?: readonly { readonly value: { readonly cooked: string } }[]
}

export function messagesOfTypeScript(path: string, source: string): Message[] {
  const messages: Message[] = []
  const search = (node: Node) => {
    const markup = markupOf(node)
    const texts = markup === undefined ? [textOf(node) ?? ''] : textOf(markup)?.split(TAG)
    for (const text of (texts ?? []).filter(isMessage))
      messages.push({ path, line: lineAt(source, node.start), text })
    for (const child of markup === undefined ? childrenOf(node) : (markup.expressions ?? [])) search(child)
  }
  search(parseAst(source, { lang: 'ts' }) as unknown as Node)
  return messages
}

export function messagesOfPython(paths: readonly string[]): Message[] {
  const script = join(import.meta.dirname, 'messages.py')
  const found: Message[] = JSON.parse(execFileSync(PYTHON, [script, ...paths], { encoding: 'utf8' }))
  return found.filter(({ text }) => isMessage(text))
}

/** The descriptions of an action, its inputs and its outputs. */
export function messagesOfAction(path: string, source: string): Message[] {
  const messages: Message[] = []
  visit(parseDocument(source), {
    Pair: (_, { key, value }) => {
      if (!isScalar(key) || key.value !== 'description' || !isScalar(value)) return
      const text = String(value.value)
      messages.push({ path, line: lineAt(source, value.range?.[0] ?? 0), text })
    },
  })
  return messages
}

const TAG = /<[^>]*>/

/** Of a template of HTML, whose texts stand between its tags. */
function markupOf({ type, tag, quasi }: Node): Node | undefined {
  return type === 'TaggedTemplateExpression' && tag?.name === 'html' ? quasi : undefined
}

const lineAt = (source: string, offset: number): number => source.slice(0, offset).split('\n').length

/** A placeholder counts as one word; texts joined by `+` are one text. */
function textOf(node: Node): string | undefined {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node.type === 'TemplateLiteral') return node.quasis?.map(({ value }) => value.cooked).join('value')
  if (!isSum(node)) return undefined
  const terms = termsOf(node).map(textOf)
  return terms.every((term) => term === undefined) ? undefined : terms.map((term) => term ?? 'value').join('')
}

/** Without the texts that its own text contains. */
function childrenOf(node: Node): Node[] {
  return isSum(node) && textOf(node) !== undefined ? termsOf(node).flatMap(inTerm) : partsOf(node)
}

const inTerm = (term: Node): Node[] => (textOf(term) === undefined ? [term] : partsOf(term))
const partsOf = (node: Node): Node[] => Object.values(node).flat().filter(isNode)
const isSum = (node: Node): boolean => node.type === 'BinaryExpression' && node.operator === '+'

function termsOf(node: Node): Node[] {
  return isSum(node) ? [node.left, node.right].flatMap((side) => (side ? termsOf(side) : [])) : [node]
}

function isMessage(text: string): boolean {
  return text.trim().split(/\s+/).length >= LEAST_WORDS
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}
