// What inputs and flags may change in an experiment: text -> typed values -> a changed experiment.
import { z } from 'zod'
import { ConfigError } from '../../errors.ts'
import { type Experiment, MODES } from '../experiment.ts'
import { KNOWN_GATES } from '../gates/gates.ts'
import { looksAfter, MOST_BLOCKS } from '../looks.ts'
import { PRESET_NAMES } from '../presets.ts'

/** The same words for action inputs (`min-speedup`), flags (`--min-speedup`) and result.json. */
export const overridesSchema = z.strictObject({
  mode: z.enum(MODES).exactOptional(),
  preset: z.enum(PRESET_NAMES).exactOptional(),
  python: z.string().exactOptional(),
  base: z.string().exactOptional(),
  blocks: z
    .union([z.number(), z.array(z.number())], { error: 'a number or a list of numbers' })
    .exactOptional(),
  seed: z.number().exactOptional(),
  'nproc-per-node': z.number().exactOptional(),
  'timeout-minutes': z.number().exactOptional(),
  'price-per-gpu-hour': z.number().exactOptional(),
  'min-speedup': z.number().exactOptional(),
  'max-loss-delta': z.number().exactOptional(),
  profile: z.boolean().exactOptional(),
})

export type Overrides = Readonly<z.infer<typeof overridesSchema>>
export type OverrideName = keyof Overrides

const PARSERS = {
  mode: oneOf(MODES),
  preset: oneOf(PRESET_NAMES),
  python: (_name: string, text: string) => text,
  base: gitRef,
  blocks: blockLooks,
  seed: seedNumber,
  'nproc-per-node': positiveInteger,
  'timeout-minutes': positiveDecimal,
  'price-per-gpu-hour': positiveDecimal,
  'min-speedup': positiveDecimal,
  'max-loss-delta': positiveDecimal,
  profile: trueOrFalse,
} satisfies Record<OverrideName, (name: string, text: string) => Overrides[OverrideName]>

export const OVERRIDE_NAMES = overridesSchema.keyof().options

/** An absent text, or an empty one, changes nothing. */
export function parseOverrides(raw: Readonly<Record<string, string | undefined>>): Overrides {
  const given = OVERRIDE_NAMES.flatMap((name) => {
    const text = raw[name]?.trim() ?? ''
    return text === '' ? [] : [[name, PARSERS[name](name, text)] as const]
  })
  return overridesSchema.parse(Object.fromEntries(given))
}

/** The flags that give the same overrides again. */
export function flagsOf(overrides: Overrides): string[] {
  return OVERRIDE_NAMES.flatMap((name) => {
    const value = overrides[name]
    if (value === undefined) return []
    return value === true ? [`--${name}`] : [`--${name}`, String(value)]
  })
}

/** A remedy that is followed to the letter must not switch a gate off. */
const EXAMPLES: Readonly<Record<string, string>> = { 'max-loss-delta': '0.001', 'timeout-minutes': '30' }

/** z.coerce.number() reads '' as 0 and '0x10' as 16: decimal text has its own rule. */
export function positiveDecimal(name: string, text: string): number {
  const value = /^\+?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isFinite(value) || value <= 0) {
    const example = EXAMPLES[name] ?? '3.0'
    throw new ConfigError(
      `${name}: got ${JSON.stringify(text)}, expected a decimal number above 0, such as ${example}`,
    )
  }
  return value
}

function positiveInteger(name: string, text: string, most = 999_999_999): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (value < 1 || value > most)
    throw new ConfigError(
      `${name}: got ${JSON.stringify(text)}, expected a whole number from 1 to ${most}, such as 4`,
    )
  return value
}

function seedNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new ConfigError(
    `${name}: got ${JSON.stringify(text)}, expected a whole number from 0 to 999999999, such as 100`,
  )
}

function oneOf<Word extends string>(words: readonly Word[]): (name: string, text: string) => Word {
  return (name, text) => {
    const found = words.find((word) => word === text)
    if (found !== undefined) return found
    throw new ConfigError(`${name}: got ${JSON.stringify(text)}, expected one of ${words.join(', ')}`)
  }
}

function trueOrFalse(name: string, text: string): boolean {
  return oneOf(['true', 'false'])(name, text) === 'true'
}

/** A text that git could take for an option names no ref. */
function gitRef(name: string, text: string): string {
  if (/^[^-\s][^\s]*$/.test(text)) return text
  throw new ConfigError(
    `${name}: got ${JSON.stringify(text)}, expected a branch, tag or commit such as origin/main`,
  )
}

/** 4, or the looks 4,6,8. */
function blockLooks(name: string, text: string): number | number[] {
  if (!text.includes(',')) return positiveInteger(name, text, MOST_BLOCKS)
  const looks = text.split(',').map((look) => positiveInteger(name, look.trim(), MOST_BLOCKS))
  if (looks.every((blocks, index) => blocks > (looks[index - 1] ?? 0))) return looks
  throw new ConfigError(`${name}: got ${JSON.stringify(text)}, expected increasing numbers such as 4,6,8`)
}

/** A limit that is given makes its gate required: who sets it means it. */
export function applyOverrides(experiment: Experiment, overrides: Overrides): Experiment {
  const { launch, design, gates } = experiment
  const { python, blocks, 'price-per-gpu-hour': price } = overrides
  return {
    ...experiment,
    mode: overrides.mode ?? experiment.mode,
    profile: overrides.profile ?? experiment.profile,
    launch: {
      ...launch,
      python: python ?? launch.python,
      nproc_per_node: overrides['nproc-per-node'] ?? launch.nproc_per_node,
      timeout_minutes: overrides['timeout-minutes'] ?? launch.timeout_minutes,
      ...(price === undefined ? {} : { price_per_gpu_hour: price }),
    },
    design: {
      ...design,
      looks: blocks === undefined ? design.looks : looksAfter(blocks),
      seed: overrides.seed ?? design.seed,
    },
    gates: {
      ...gates,
      ...limitsOf(overrides, gates),
    },
  }
}

function limitsOf(overrides: Overrides, gates: Experiment['gates']): Experiment['gates'] {
  return Object.fromEntries(
    KNOWN_GATES.flatMap(({ name, input }) => {
      if (input === undefined) return []
      const value = overrides[input.name]
      return value === undefined ? [] : [[name, required(gates[name], { [input.gives]: value })]]
    }),
  )
}

type GateEntry = Experiment['gates'][string]

/** Without the limit that the file gives: a gate has one, and it may stand under another key. */
function required(entry: GateEntry | undefined, limit: Pick<GateEntry, 'at_least' | 'below'>): GateEntry {
  return { ...limit, evidence: entry?.evidence ?? 'interval', severity: 'required' }
}
