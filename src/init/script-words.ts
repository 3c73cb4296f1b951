// How a script takes its output folder, its seed and its settings, by its text.
import type { Framework } from './frameworks.ts'
import { imports } from './frameworks.ts'

export interface ScriptWords {
  /** Behind the script in launch.command. */
  readonly words: readonly string[]
  /** trainer.arguments, for what a change switches. */
  readonly pattern: string
  /** For what of a launch no flag was found. */
  readonly missing: readonly ('seed' | 'output folder')[]
}

/** With - in place of _ too. */
const OUT = [
  'output_dir',
  'out_dir',
  'out',
  'outdir',
  'save_dir',
  'log_dir',
  'logdir',
  'results_dir',
  'run_dir',
]
const SEED = ['seed', 'random_seed', 'manual_seed', 'rng_seed', 'global_seed']

const WORDS = '--{key} {value}'
const EQUALS = '--{key}={value}'

export function scriptWords(script: string, framework: Framework): ScriptWords {
  if (framework === 'hydra') return hydraWords(script)
  if (imports(script, 'lightning', 'pytorch_lightning') && /\bLightningCLI\b/.test(script))
    return found(EQUALS, ['fit', '--trainer.default_root_dir={out}'], ['--seed_everything={seed}'])
  if (/\bHfArgumentParser\b|\bTrlParser\b/.test(script))
    return found(WORDS, ['--output_dir', '{out}'], ['--seed', '{seed}'])
  const flags = [...script.matchAll(/['"]--([A-Za-z][\w-]*)/g)].map(([, name = '']) => name)
  if (flags.length > 0) return byNames(flags, WORDS, (name, value) => [`--${name}`, value])
  // In nanoGPT's manner: the globals of the script are its settings.
  const isOverridden = /\bsys\.argv\b|\bconfigurator\b/.test(script)
  const globals = [...script.matchAll(/^([A-Za-z]\w*)[ \t]*(?::[^=\n]+)?=(?!=)/gm)].map(
    ([, name = '']) => name,
  )
  return byNames(isOverridden ? globals : [], EQUALS, (name, value) => [`--${name}=${value}`])
}

function hydraWords(script: string): ScriptWords {
  const hasSeed = /\.seed\b|['"]seed['"]/.test(script)
  return found('{key}={value}', ['hydra.run.dir={out}'], hasSeed ? ['seed={seed}'] : [])
}

function byNames(
  names: readonly string[],
  pattern: string,
  wordsFor: (name: string, value: string) => readonly string[],
): ScriptWords {
  const wordsOf = (known: readonly string[], value: string) => {
    const name = known.flatMap((one) => [one, one.replaceAll('_', '-')]).find((one) => names.includes(one))
    return name === undefined ? [] : wordsFor(name, value)
  }
  return found(pattern, wordsOf(OUT, '{out}'), wordsOf(SEED, '{seed}'))
}

function found(pattern: string, out: readonly string[], seed: readonly string[]): ScriptWords {
  const missing = [
    ...(out.length === 0 ? (['output folder'] as const) : []),
    ...(seed.length === 0 ? (['seed'] as const) : []),
  ]
  return { words: [...out, ...seed], pattern, missing }
}
