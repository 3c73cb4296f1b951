// A ladder -> what every rung sets, alone and in the sum, and the order of the launches.

import type { Settings } from '../config/parse/mapping.ts'
import type { PlannedRun } from '../plan/plan.ts'
import type { Ladder, Rung } from './config.ts'

export interface RungSettings {
  readonly rung: Rung
  /** The rung with all that it needs. */
  readonly alone: Settings
  /** What it needs, without the rung itself; null if nothing. */
  readonly needs: Settings | null
  /** All rungs up to this one, without those that were replaced or left out. */
  readonly sum: Settings
  /** The rung whose sum this one adds to; null for the baseline itself. */
  readonly sumBefore: string | null
}

/** Later rungs win where two set one key. `leftOut`: rungs that failed in the sum, and stay out of later ones. */
export function rungSettings({ rungs }: Ladder, leftOut: ReadonlySet<string> = new Set()): RungSettings[] {
  const named = (names: ReadonlySet<string>) => settingsOf(rungs.filter(({ name }) => names.has(name)))
  let sum: ReadonlySet<string> = new Set()
  let sumBefore: string | null = null
  return rungs.map((rung) => {
    const { name, replaces } = rung
    const needed = allNeeds(rung, rungs)
    const withRung = new Set([...sum].filter((other) => !replaces.includes(other))).add(name)
    const settings = {
      rung,
      alone: { ...named(needed), ...rung.set },
      needs: needed.size > 0 ? named(needed) : null,
      sum: named(withRung),
      sumBefore,
    }
    if (!leftOut.has(name)) [sum, sumBefore] = [withRung, name]
    return settings
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

/**
 * The baseline first, after every so many others, and last, so that each launch has a baseline before and after it. Null
 * when nothing is due. `done`: what the sitting has launched.
 */
export function nextTraining<Training>(
  baseline: Training,
  due: readonly Training[],
  done: readonly Training[],
  baselineEvery: number,
): Training | null {
  const [next] = due
  if (next === undefined) return done.length === 0 || done.at(-1) === baseline ? null : baseline
  const isStart = !done.includes(baseline)
  return isStart || done.length - 1 - done.lastIndexOf(baseline) >= baselineEvery ? baseline : next
}

/** All that a sitting launches if nothing fails and there is time. */
export function planSitting<Training>(
  baseline: Training,
  due: readonly Training[],
  baselineEvery: number,
): Training[] {
  const order: Training[] = []
  for (;;) {
    const rest = due.filter((training) => !order.includes(training))
    const next = nextTraining(baseline, rest, order, baselineEvery)
    if (next === null) return order
    order.push(next)
  }
}

/** Also the name of its folder under runs/: unique over all sittings, in the order of the launches. */
export function launchId(sitting: number, launchesBefore: number, title: string): string {
  const number = String(launchesBefore + 1).padStart(3, '0')
  return `sitting-${sitting + 1}-${number}-${title.replaceAll(' ', '-')}`
}

/** What is launched, as it stands in its id. */
export function launchTitle(id: string): string {
  return id.replace(/^sitting-\d+-\d+-/, '')
}

/** A launch of a ladder as a planned run: its sitting takes the place of the block. */
export function ladderRun(id: string, isBaseline: boolean, sitting: number, seed: number): PlannedRun {
  const variant = isBaseline ? 'baseline' : 'optimized'
  return { id, purpose: 'measured', variant, block: sitting + 1, seed, repeats: null }
}
