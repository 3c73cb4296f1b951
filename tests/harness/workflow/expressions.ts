// Evaluates `${{ }}` and `if:` with GitHub's own expression engine.
import { data, Evaluator, Lexer, Parser } from '@actions/expressions'
import { replacer } from '@actions/expressions/data/replacer'
import { reviver } from '@actions/expressions/data/reviver'
import { truthy } from '@actions/expressions/result'
import { z } from 'zod'

/** Values by name of the context: github, inputs, needs, matrix, steps. */
export type Contexts = Readonly<Record<string, unknown>>

/** What went before, as success(), failure() and cancelled() ask for it. */
export type SoFar = 'success' | 'failure' | 'skipped' | 'cancelled'

export function holds(condition: string, contexts: Contexts, soFar: SoFar): boolean {
  return truthy(evaluate(condition, contexts, soFar))
}

/** Fills every text in a value; a text that is one expression alone keeps the type of what it names. */
export function fill(value: unknown, contexts: Contexts): unknown {
  if (typeof value === 'string') return fillText(value, contexts)
  if (Array.isArray(value)) return value.map((item) => fill(item, contexts))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, contexts)]))
}

/** As environment variables and the inputs of an action are: texts. */
export function fillTexts(
  values: Readonly<Record<string, unknown>>,
  contexts: Contexts,
): Record<string, string> {
  const texts = z.record(z.string(), z.unknown()).parse(fill(values, contexts))
  return Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, String(value ?? '')]))
}

function fillText(text: string, contexts: Contexts): unknown {
  const [, alone] = /^\$\{\{((?:(?!\}\}).)*)\}\}$/s.exec(text) ?? []
  if (alone !== undefined) return JSON.parse(JSON.stringify(evaluate(alone, contexts, 'success'), replacer))
  return text.replaceAll(/\$\{\{(.*?)\}\}/gs, (_, one: string) =>
    evaluate(one, contexts, 'success').coerceString(),
  )
}

function evaluate(expression: string, contexts: Contexts, soFar: SoFar): data.ExpressionData {
  const functions = statusFunctions(soFar)
  const tree = new Parser(new Lexer(expression.trim()).lex().tokens, Object.keys(contexts), functions).parse()
  const known = JSON.parse(JSON.stringify(contexts), reviver)
  return new Evaluator(tree, known, new Map(functions.map((one) => [one.name, one]))).evaluate()
}

function statusFunctions(soFar: SoFar) {
  const answers = {
    always: true,
    success: soFar === 'success',
    failure: soFar === 'failure',
    cancelled: soFar === 'cancelled',
  }
  return Object.entries(answers).map(([name, answer]) => ({
    name,
    minArgs: 0,
    maxArgs: 0,
    call: () => new data.BooleanData(answer),
  }))
}
