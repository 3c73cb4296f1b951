// The placeholders in the words of launch.command: {seed} is replaced, {{ and }} are braces.

/** `arguments` stands for several words, so it is a word of its own. */
export const PLACEHOLDERS = ['config', 'out', 'seed', 'nproc', 'python', 'arguments'] as const
export type Placeholder = (typeof PLACEHOLDERS)[number]

export const ARGUMENTS = '{arguments}'

const PIECE = /\{\{|\}\}|\{[^{}]*\}|[{}]/g

/** As they stand in the word, also unknown ones and single braces. */
export function placeholdersIn(word: string): string[] {
  return [...word.matchAll(PIECE)].map(([piece]) => piece).filter((piece) => piece !== '{{' && piece !== '}}')
}

/** Of known placeholders only. */
export function filledIn(word: string, values: Readonly<Record<string, string>>): string {
  return word.replaceAll(PIECE, (piece) => {
    if (piece === '{{' || piece === '}}') return piece.slice(1)
    const value = values[piece.slice(1, -1)]
    if (value === undefined) throw new Error(`no value for ${piece}`)
    return value
  })
}
