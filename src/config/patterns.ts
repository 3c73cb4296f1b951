// Regular expressions of an experiment file: valid, with the groups that a reader needs, and quick on any line.
import { RE2JS } from 're2js'
import { z } from 'zod'
import { messageOf } from '../errors.ts'

export const STEP_GROUPS = ['step', 'step_seconds', 'samples', 'train_loss']
export const EVALUATION_GROUPS = ['step', 'val_loss', 'evaluation_seconds']

const MAX_CHARACTERS = 500

/** The time for a line grows with it: `{30}` writes its group out thirty times. */
const MAX_INSTRUCTIONS = 500

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

export interface Pattern {
  readonly groups: readonly string[]
  /** Its named groups, without those that took no part; null where nothing in the text matches. */
  exec(text: string): Record<string, string> | null
  test(text: string): boolean
}

/** RE2's engine, since that of JavaScript can take for ever on one line. Throws for an invalid pattern. */
export function compiled(text: string): Pattern {
  const expression = RE2JS.compile(text)
  return {
    groups: Object.keys(expression.namedGroups()),
    exec(line) {
      const matcher = expression.matcher(line)
      if (!matcher.find()) return null
      const present = ([name, value]: [string, string | null]) =>
        value === null ? [] : [[name, value] as const]
      return Object.fromEntries(Object.entries(matcher.getNamedGroups()).flatMap(present))
    },
    test: (line) => expression.test(line),
  }
}

/** As what was expected instead. */
function patternProblem(
  text: string,
  known: readonly string[],
  needed: readonly string[],
  others: 'any' | 'none',
): string | null {
  try {
    if (RE2JS.compile(text).programSize() > MAX_INSTRUCTIONS)
      return 'a shorter regular expression, or one with smaller numbers in {}'
  } catch (error) {
    const reason = messageOf(error).replace('error parsing regexp: ', '')
    return `a regular expression that RE2 knows, without look-around and back-references (${reason})`
  }
  const { groups } = compiled(text)
  const missing = needed.find((name) => !groups.includes(name))
  if (missing !== undefined) return `a group (?<${missing}>...) in it, such as (?<${missing}>[\\d.]+)`
  const unknown = groups.find((name) => others === 'none' && !known.includes(name))
  if (unknown === undefined) return null
  return known.length === 0
    ? `no named group in it, but there is ${unknown}`
    : `only the groups ${known.join(', ')} in it, but there is ${unknown}`
}
