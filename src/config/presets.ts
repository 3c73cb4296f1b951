// Named sets of design and gates: how much evidence an occasion is worth.
import { DEFAULT_GATES } from './gates.ts'
import { isMapping } from './same-work.ts'

export const PRESET_NAMES = ['smoke', 'pull-request', 'nightly', 'release'] as const
export type PresetName = (typeof PRESET_NAMES)[number]

interface Preset {
  readonly design: Readonly<Record<string, unknown>>
  readonly gates: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const PRESETS: Readonly<Record<PresetName, Preset>> = {
  /** Does it run? Completion, finite numbers and equal work are required, the rest is information. */
  smoke: { design: { blocks: 4 }, gates: withSeverity('info') },
  /** Minutes count: the verdict may stay open, and a label or a nightly run decides. */
  'pull-request': { design: { blocks: [4, 6] }, gates: DEFAULT_GATES },
  nightly: { design: { blocks: [4, 6, 8] }, gates: DEFAULT_GATES },
  /** Enough blocks for the bootstrap beside the t bound, and enough seeds for a loss delta of 0.001. */
  release: { design: { blocks: [8, 12, 16], warm_up_launches: 2 }, gates: DEFAULT_GATES },
}

/** Fills in what the file leaves open; a gate or key that the file names itself wins over the preset's. */
export function withPreset(raw: unknown, chosen: PresetName | undefined): unknown {
  if (!isMapping(raw)) return raw
  const name = chosen ?? PRESET_NAMES.find((one) => one === raw.preset)
  if (name === undefined) return raw
  const { design, gates } = PRESETS[name]
  return { ...raw, preset: name, design: merged(design, raw.design), gates: merged(gates, raw.gates) }
}

/** A value of the wrong type stays, so that it is refused by name. */
function merged(preset: Readonly<Record<string, unknown>>, own: unknown): unknown {
  if (own === undefined) return preset
  return isMapping(own) ? { ...preset, ...own } : own
}

function withSeverity(severity: string): Preset['gates'] {
  return Object.fromEntries(
    Object.entries(DEFAULT_GATES).map(([name, gate]) => [name, { ...gate, severity }]),
  )
}
