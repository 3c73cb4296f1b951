// Which framework a script trains with, by the text of its imports: nothing of it is run.

export const FRAMEWORKS = ['hugging-face', 'lightning', 'accelerate', 'hydra', 'plain'] as const
export type Framework = (typeof FRAMEWORKS)[number]

/** hydra decides how settings are handed over, whatever trains behind it. */
export function frameworkOf(script: string): Framework {
  if (imports(script, 'hydra')) return 'hydra'
  // A loop of its own may import a model alone.
  if (imports(script, 'transformers', 'trl') && /\b\w*(?:Trainer|TrainingArguments)\b/.test(script))
    return 'hugging-face'
  if (imports(script, 'lightning', 'pytorch_lightning')) return 'lightning'
  return imports(script, 'accelerate') ? 'accelerate' : 'plain'
}

/** Of the first packages of `import a.b, c` and `from a.b import c`, also where they are indented. */
export function imports(script: string, ...packages: readonly string[]): boolean {
  const lines = script.matchAll(/^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([\w., \t]+))/gm)
  const named = [...lines].flatMap(([, from, list = '']) => [from ?? '', ...list.split(',')])
  return named.some((name) => packages.includes(name.trim().split(/[.\s]/)[0] ?? ''))
}
