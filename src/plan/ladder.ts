// A ladder -> what every rung sets, alone and in the sum, and the order of the launches.
import type { Ladder, Rung } from '../config/ladder.ts'
import type { Settings } from '../config/mapping.ts'
import type { PlannedRun } from './plan.ts'

export interface RungSettings {
  readonly rung: Rung
  /** The rung with all that it needs. */
  readonly alone: Settings
  /** What it needs by itself; null if nothing. */
  readonly needs: Settings | null
  /** All rungs up to this one, without those that were replaced. */
  readonly sum: Settings
}

/** Later rungs win where two set one key. */
export function rungSettings({ rungs }: Ladder): RungSettings[] {
  const named = (names: ReadonlySet<string>) => settingsOf(rungs.filter(({ name }) => names.has(name)))
  const sum = new Set<string>()
  return rungs.map((rung) => {
    for (const name of rung.replaces) sum.delete(name)
    sum.add(rung.name)
    const needed = allNeeds(rung, rungs)
    return {
      rung,
      alone: { ...named(needed), ...rung.set },
      needs: needed.size > 0 ? named(needed) : null,
      sum: named(sum),
    }
  })
}

function settingsOf(rungs: readonly Rung[]): Settings {
  return Object.fromEntries(rungs.flatMap(({ set }) => Object.entries(set)))
}

/** Also what its needs need. */
function allNeeds({ needs }: Rung, rungs: readonly Rung[]): Set<string> {
  const direct = rungs.filter(({ name }) => needs.includes(name))
  return new Set(direct.flatMap((rung) => [rung.name, ...allNeeds(rung, rungs)]))
}

export interface PlannedLaunch<Training> {
  readonly run: PlannedRun
  readonly training: Training
}

export interface SittingPlan<Training> {
  readonly baseline: Training
  /** What is to be measured, in its order. */
  readonly due: readonly Training[]
  readonly baselineEvery: number
  /** Index of the sitting. */
  readonly sitting: number
  readonly seed: number
}

/**
 * The baseline first, after every so many others, and last, so that each launch has a baseline before and after it.
 * Empty if nothing is due.
 */
export function planSitting<Training extends { readonly title: string }>(
  plan: SittingPlan<Training>,
): PlannedLaunch<Training>[] {
  const { baseline, due, baselineEvery, sitting, seed } = plan
  const order = due.flatMap((training, index) =>
    index % baselineEvery === 0 ? [baseline, training] : [training],
  )
  return (due.length === 0 ? [] : [...order, baseline]).map((training, index) => {
    const place = `sitting-${sitting + 1}-${String(index + 1).padStart(3, '0')}`
    const id = `${place}-${training.title.replaceAll(' ', '-')}`
    return { training, run: ladderRun(id, training === baseline, sitting, seed) }
  })
}

/** A launch of a ladder as a planned run: its sitting takes the place of the block. */
export function ladderRun(id: string, isBaseline: boolean, sitting: number, seed: number): PlannedRun {
  const variant = isBaseline ? 'baseline' : 'optimized'
  return { id, purpose: 'measured', variant, block: sitting + 1, seed, repeats: null }
}
