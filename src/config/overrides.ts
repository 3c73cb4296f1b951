// What inputs and flags may change in an experiment: text -> typed values -> a changed experiment.
import { ConfigError } from '../errors.ts'
import type { Experiment } from './experiment.ts'

export interface Overrides {
  readonly python?: string
  readonly blocks?: number
  readonly nprocPerNode?: number
  readonly timeoutMinutes?: number
  readonly minSpeedup?: number
  readonly maxLossDelta?: number
}

/** The same words for action inputs (`min-speedup`) and flags (`--min-speedup`). An absent one is ''. */
export const OVERRIDE_NAMES = [
  'python',
  'blocks',
  'nproc-per-node',
  'timeout-minutes',
  'min-speedup',
  'max-loss-delta',
] as const
export type RawOverrides = Readonly<Partial<Record<(typeof OVERRIDE_NAMES)[number], string>>>

export function parseOverrides(raw: RawOverrides): Overrides {
  const number = (name: keyof RawOverrides, parse: (name: string, text: string) => number) => {
    const text = raw[name]?.trim() ?? ''
    return text === '' ? undefined : parse(name, text)
  }
  return withoutAbsent({
    python: raw.python?.trim() || undefined,
    blocks: number('blocks', positiveInteger),
    nprocPerNode: number('nproc-per-node', positiveInteger),
    timeoutMinutes: number('timeout-minutes', positiveDecimal),
    minSpeedup: number('min-speedup', positiveDecimal),
    maxLossDelta: number('max-loss-delta', positiveDecimal),
  })
}

/** z.coerce.number() reads '' as 0 and '0x10' as 16: decimal text has its own rule. */
export function positiveDecimal(name: string, text: string): number {
  const value = /^\+?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isFinite(value) || value <= 0) {
    throw new ConfigError(
      `${name}: got ${JSON.stringify(text)}, expected a decimal number above 0, such as 3.0`,
    )
  }
  return value
}

export function positiveInteger(name: string, text: string): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (value < 1)
    throw new ConfigError(`${name}: got ${JSON.stringify(text)}, expected a whole number above 0, such as 4`)
  return value
}

/** A limit that is given makes its gate required: who sets it means it. */
export function applyOverrides(experiment: Experiment, overrides: Overrides): Experiment {
  const { python, blocks, nprocPerNode, timeoutMinutes, minSpeedup, maxLossDelta } = overrides
  return {
    ...experiment,
    launch: {
      ...experiment.launch,
      ...withoutAbsent({ python, nproc_per_node: nprocPerNode, timeout_minutes: timeoutMinutes }),
    },
    design: { ...experiment.design, ...withoutAbsent({ blocks }) },
    gates: {
      ...experiment.gates,
      ...(minSpeedup === undefined
        ? {}
        : { speedup: { ...requiredGate(experiment, 'speedup'), at_least: minSpeedup } }),
      ...(maxLossDelta === undefined
        ? {}
        : { loss_delta: { ...requiredGate(experiment, 'loss_delta'), below: maxLossDelta } }),
    },
  }
}

/** Without the limit that the file gives: a gate has one, and it may stand under another key. */
function requiredGate({ gates }: Experiment, name: string) {
  return { severity: 'required' as const, evidence: gates[name]?.evidence ?? ('interval' as const) }
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

function withoutAbsent<T extends object>(values: T): Present<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<T>
}
