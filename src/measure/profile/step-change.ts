// Two profiles -> what changed inside the step: largest change first, and how much of the change the rows explain.
import type { Variant } from '../../config/experiment.ts'
import type { Profile, ProfileRow, Profiles } from './profile.ts'

export interface ChangedRow {
  readonly name: string
  readonly milliseconds: Readonly<Record<Variant, number>>
  readonly launches: Readonly<Record<Variant, number>>
}

/** The rows that explain most of what became longer or shorter. */
export interface Explained {
  readonly rows: readonly ChangedRow[]
  /** Of all that moved, what these rows have; null where nothing moved. */
  readonly share: number | null
  readonly rowsLeft: number
}

export interface StepChange {
  readonly stepMilliseconds: Readonly<Record<Variant, number>>
  /** They add up to the step, so that their changes add up to its change. */
  readonly kinds: readonly ChangedRow[]
  readonly operators: Explained
  readonly kernels: Explained
}

const WANTED_SHARE = 0.95
/** At least so many, since one row alone says little of the rest; at most so many, for a reader. */
const ROWS = { least: 5, most: 25 } as const

/** Null unless both profiles have a step. */
export function stepChange(profiles: Profiles): StepChange | null {
  if (profiles === null) return null
  const { baseline, optimized } = profiles
  if (baseline.step_ms === undefined || optimized.step_ms === undefined) return null
  return {
    stepMilliseconds: { baseline: baseline.step_ms, optimized: optimized.step_ms },
    kinds: kindsOf(baseline, optimized),
    operators: explained(changedRows(baseline.operators, optimized.operators)),
    kernels: explained(changedRows(baseline.kernels, optimized.kernels)),
  }
}

export function changeOf({ milliseconds }: ChangedRow): number {
  return milliseconds.optimized - milliseconds.baseline
}

function kindsOf({ kinds: before = {} }: Profile, { kinds: after = {} }: Profile): ChangedRow[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].map((name) => ({
    name,
    milliseconds: { baseline: before[name] ?? 0, optimized: after[name] ?? 0 },
    launches: { baseline: 0, optimized: 0 },
  }))
}

function changedRows(before: readonly ProfileRow[] = [], after: readonly ProfileRow[] = []): ChangedRow[] {
  const rows = new Map<string, { baseline?: ProfileRow; optimized?: ProfileRow }>()
  for (const row of before) rows.set(row.name, { baseline: row })
  for (const row of after) rows.set(row.name, { ...rows.get(row.name), optimized: row })
  return [...rows]
    .map(([name, { baseline, optimized }]) => ({
      name,
      milliseconds: { baseline: baseline?.ms ?? 0, optimized: optimized?.ms ?? 0 },
      launches: { baseline: baseline?.launches ?? 0, optimized: optimized?.launches ?? 0 },
    }))
    .toSorted((a, b) => Math.abs(changeOf(b)) - Math.abs(changeOf(a)))
}

function explained(all: readonly ChangedRow[]): Explained {
  const moved = all.reduce((sum, row) => sum + Math.abs(changeOf(row)), 0)
  if (moved === 0) return { rows: [], share: null, rowsLeft: 0 }
  const rows: ChangedRow[] = []
  let sum = 0
  for (const row of all) {
    const isEnough = sum >= WANTED_SHARE * moved && rows.length >= ROWS.least
    if (isEnough || rows.length === ROWS.most || changeOf(row) === 0) break
    rows.push(row)
    sum += Math.abs(changeOf(row))
  }
  return { rows, share: sum / moved, rowsLeft: all.length - rows.length }
}
