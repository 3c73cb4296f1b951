// Regular expressions of an experiment file: valid, with the groups that a reader needs, and quick on any line.
import { z } from 'zod'

export const STEP_GROUPS = ['step', 'step_seconds', 'samples', 'train_loss']
export const EVALUATION_GROUPS = ['step', 'val_loss', 'evaluation_seconds']

const MAX_CHARACTERS = 500

/** `others`: whether groups of other names are numbers too. */
export function pattern(
  known: readonly string[],
  needed: readonly string[],
  others: 'any' | 'none' = 'none',
) {
  return z
    .string()
    .min(1)
    .max(MAX_CHARACTERS)
    .superRefine((text, context) => {
      const problem = patternProblem(text, known, needed, others)
      if (problem !== null) context.addIssue({ code: 'custom', message: problem })
    })
}

/** Python's `(?P<step>...)` is accepted too. Throws a SyntaxError for an invalid pattern. */
export function compiled(text: string): RegExp {
  return new RegExp(text.replaceAll('(?P<', '(?<'))
}

/** As what was expected instead. */
function patternProblem(
  text: string,
  known: readonly string[],
  needed: readonly string[],
  others: 'any' | 'none',
): string | null {
  try {
    compiled(text)
  } catch (error) {
    return `a regular expression (${error instanceof Error ? error.message : error})`
  }
  const groups = groupsOf(text)
  const missing = needed.find((name) => !groups.includes(name))
  if (missing !== undefined) return `a group (?<${missing}>...) in it, such as (?<${missing}>[\\d.]+)`
  const unknown = groups.find((name) => others === 'none' && !known.includes(name))
  if (unknown !== undefined)
    return known.length === 0
      ? `no named group in it, but there is ${unknown}`
      : `only the groups ${known.join(', ')} in it, but there is ${unknown}`
  if (text.includes('?P=') || /\\[1-9k]/.test(text)) return 'no back-reference in it'
  if (repeatsRepetition(text))
    return 'no repeated group that itself holds a repetition or a choice, such as (a+)+ or (a|b)*, which can take for ever on one line'
  return unboundedWildcards(text) > MOST_WILDCARDS
    ? `at most ${MOST_WILDCARDS} of .* or .+ in it, since each multiplies the time that a line takes; name the characters instead, such as [\\d.]+`
    : null
}

const MOST_WILDCARDS = 3

export function groupsOf(text: string): string[] {
  return [...text.matchAll(/\(\?P?<([A-Za-z_]\w*)>/g)].map(([, name = '']) => name)
}

function unboundedWildcards(text: string): number {
  return [...text.matchAll(/(?<!\\)\.[*+]/g)].length
}

/** Such a pattern can try exponentially many ways to match. */
function repeatsRepetition(text: string): boolean {
  /** For each open group, whether it holds an unbounded repetition or a choice. */
  const open: boolean[] = []
  const plain = text.replaceAll(/\\./g, 'x').replaceAll(/\[[^\]]*\]/g, 'x')
  for (let index = 0; index < plain.length; index += 1) {
    const character = plain[index]
    if (character === '(') open.push(false)
    else if (character === ')') {
      const holds = open.pop() ?? false
      const isRepeated = /^(?:[*+]|\{\d+,\d*\})/.test(plain.slice(index + 1))
      if (holds && isRepeated) return true
      if (open.length > 0) open[open.length - 1] ||= holds || isRepeated
    } else if (open.length > 0 && (/^(?:[*+]|\{\d+,\})/.test(plain.slice(index)) || character === '|')) {
      open[open.length - 1] = true
    }
  }
  return false
}
