// Which launches count: what the machine disturbed is set aside and repeated once, and all of it is shown.
import type { Watched } from '../measure/machine-record.ts'
import { type Launched, type NotRunReason, outcomeOf } from '../measure/outcome.ts'
import { isMeasured, type PlannedRun, repeatOf } from '../plan/plan.ts'
import { disturbanceOf } from './machine/disturbance.ts'
import { type MachineCheck, machineCheck } from './machine/machine-check.ts'

export interface Attempts {
  readonly counting: readonly Launched[]
  /** Launches that do not count, and why. */
  readonly setAside: Reasons
  /** Repeats to launch before anything else. */
  readonly due: readonly PlannedRun[]
  /** Launches that the machine failed after the one retry of an experiment: they count. */
  readonly notRetried: Reasons
}

type Reasons = ReadonlyMap<Launched, string>

/**
 * A pure function of what is recorded, so that a resumed and an analyzed experiment count as the first one did. The
 * unit is the block, since half of one was measured under other conditions than the other half; a warm-up launch
 * is a unit of its own. A second attempt counts, whatever the machine did.
 */
export function sortAttempts(launched: readonly Launched[], { records }: Watched): Attempts {
  let hasRetried = false
  const units = unitsOf(launched).map(({ title, first, repeats }) => {
    const disturbed = new Map(
      first.flatMap((one) => {
        const reason = disturbanceOf(one, records.get(one.outcome.run.id))
        return reason === null ? [] : [[one, reason] as const]
      }),
    )
    const failed = first.filter(({ outcome }) => outcome.status === 'failed')
    const isOwnFailure = failed.some((one) => !disturbed.has(one))
    const asLaunched = { counting: first, setAside: repeats.map(notNeeded), due: [], notRetried: [] }
    if (disturbed.size === 0 || isOwnFailure || !isOver(first)) return asLaunched
    if (failed.length > 0 && hasRetried) return { ...asLaunched, notRetried: [...disturbed] }
    hasRetried ||= failed.length > 0
    const reasons = [...disturbed].map(([{ outcome }, reason]) => `${outcome.run.id}: ${reason}`)
    const due = first.map((one) => repeatOf(one.outcome.run)).filter((run) => !isLaunched(run, repeats))
    const reason = `${title} ${due.length > 0 ? 'will be' : 'was'} launched again: ${reasons.join('; ')}`
    return {
      // What is still due counts as not run, so that nothing passes without it.
      counting: [...repeats, ...unlaunched(due, 'stopped')],
      setAside: first.map((one) => [one, reason] as const),
      due,
      notRetried: [],
    }
  })
  return {
    counting: units.flatMap(({ counting }) => counting),
    setAside: new Map(units.flatMap(({ setAside }) => setAside)),
    due: units.flatMap(({ due }) => due),
    notRetried: new Map(units.flatMap(({ notRetried }) => notRetried)),
  }
}

/** All that an experiment consists of: what was launched, and why the rest was not. */
export function withUnlaunched(
  plan: readonly PlannedRun[],
  done: readonly Launched[],
  due: readonly PlannedRun[],
  reason: NotRunReason,
): Launched[] {
  return [...done, ...unlaunched([...due, ...plan.filter((run) => !isLaunched(run, done))], reason)]
}

function unlaunched(runs: readonly PlannedRun[], reason: NotRunReason): Launched[] {
  return runs.map((run) => ({ launch: null, outcome: outcomeOf(run, null, null, reason) }))
}

/** Shown with the checks of the machine; a warning, since a second attempt may hide what a first one showed. */
export function checkRepeats({ setAside, notRetried }: Attempts): MachineCheck[] {
  const details = [
    ...new Set(setAside.values()),
    ...[...notRetried].map(
      ([{ outcome }, reason]) =>
        `${outcome.run.id}: ${reason}; it counts, because an experiment retries only one failed launch`,
    ),
  ]
  return details.map((detail) => machineCheck('repeats', { status: 'warned', detail }))
}

function notNeeded(launched: Launched): readonly [Launched, string] {
  return [launched, `${launched.outcome.run.id} does not count: its first attempt was not disturbed`]
}

interface Unit {
  readonly title: string
  readonly first: readonly Launched[]
  readonly repeats: readonly Launched[]
}

function unitsOf(launched: readonly Launched[]): Unit[] {
  const units = Map.groupBy(launched, ({ outcome: { run } }) =>
    isMeasured(run) ? run.block : (run.repeats ?? run.id),
  )
  return [...units].map(([unit, attempts]) => ({
    title: typeof unit === 'number' ? `block ${unit}` : `the warm-up launch ${unit}`,
    first: attempts.filter(({ outcome }) => outcome.run.repeats === null),
    repeats: attempts.filter(({ outcome }) => outcome.run.repeats !== null),
  }))
}

function isOver(first: readonly Launched[]): boolean {
  const runs = first.every(({ outcome }) => isMeasured(outcome.run)) ? 2 : 1
  return (
    first.length === runs &&
    first.every(({ outcome: { status } }) => status === 'finished' || status === 'failed')
  )
}

function isLaunched({ id }: PlannedRun, launched: readonly Launched[]): boolean {
  return launched.some(({ outcome }) => outcome.run.id === id)
}
