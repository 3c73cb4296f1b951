// Has every training of a ladder resolved by the trainer before any of them is launched.
import { availableParallelism } from 'node:os'
import type { Experiment } from '../../config/experiment.ts'
import type { Settings } from '../../config/mapping.ts'
import { differencesOutside, type TrainerConfig } from '../../config/same-work.ts'
import { ConfigError } from '../../errors.ts'
import { trainingHash } from '../../judge/noise-floor.ts'
import type { LadderRung, LadderTraining } from '../../measure/ladder.ts'
import { rungSettings } from '../../plan/ladder.ts'
import { messageOf } from '../error-message.ts'
import { resolveConfig } from '../resolve-config.ts'
import type { VariantPlace, VariantPlaces } from '../revisions/variant-places.ts'

/** A training that can be launched: as the variant `optimized` of `experiment`, or as its baseline. */
export interface Resolved extends LadderTraining {
  readonly experiment: Experiment
  readonly config: TrainerConfig
  readonly place: VariantPlace
}

export interface ResolvedLadder {
  readonly baseline: Resolved
  /** In the order of their launches; the first is the baseline, the last the optimized variant. */
  readonly trainings: readonly Resolved[]
  readonly rungs: readonly LadderRung[]
}

type Wanted = Pick<Resolved, 'title' | 'experiment' | 'place'>

/** Throws a ConfigError for a rung that the trainer refuses, that changes nothing, or more than its kind allows. */
export async function resolveLadder(
  experiment: Experiment,
  settings: Settings,
  places: VariantPlaces,
  cancelled: AbortSignal,
): Promise<ResolvedLadder> {
  const { ladder } = experiment
  if (ladder === undefined) {
    throw new ConfigError(
      `ladder: missing in ${experiment.name}; list its rungs, each with a name and what it sets`,
    )
  }
  const short = withSettings(experiment, settings)
  const { baseline } = short.variants
  const withRung = (title: string, set: Settings): Wanted => ({
    title,
    place: places.baseline,
    experiment: {
      ...short,
      variants: { baseline, optimized: { ...baseline, set: { ...baseline.set, ...set } } },
    },
  })
  const climbed = rungSettings(ladder)
  const wanted = [
    withRung('baseline', {}),
    ...climbed.flatMap(({ rung: { name }, alone, needs, sum }) => [
      ...(needs === null ? [] : [withRung(`what ${name} needs`, needs)]),
      withRung(`${name} alone`, alone),
      withRung(`sum up to ${name}`, sum),
    ]),
    { title: 'optimized variant', place: places.optimized, experiment: short },
  ]
  const resolved = await resolveAll(wanted, cancelled)
  const find = (title: string) => {
    const found = resolved.get(title)
    if (found === undefined) throw new Error(`no training of the title ${title}`)
    return found
  }
  const rungs = climbed.map(({ rung, needs }, index) => {
    const { name } = rung
    const before = climbed[index - 1]?.rung.name
    return {
      name,
      needs: rung.needs,
      predicts: rung.predicts ?? null,
      note: rung.note ?? null,
      alone: find(`${name} alone`).hash,
      from: find(needs === null ? 'baseline' : `what ${name} needs`).hash,
      sum: find(`sum up to ${name}`).hash,
      sumBefore: find(before === undefined ? 'baseline' : `sum up to ${before}`).hash,
    }
  })
  refuseWithoutEffect(rungs)
  return { baseline: find('baseline'), trainings: uniqueTrainings([...resolved.values()]), rungs }
}

/** What is set in every launch of a ladder: by the file, then by flags. */
export function withSettings(experiment: Experiment, settings: Settings): Experiment {
  const { baseline, optimized } = experiment.variants
  const extend = (variant: typeof baseline) => ({ ...variant, set: { ...variant.set, ...settings } })
  return { ...experiment, variants: { baseline: extend(baseline), optimized: extend(optimized) } }
}

/** By title. Side by side, since a trainer takes a second to answer and a ladder asks dozens of times. */
async function resolveAll(
  wanted: readonly Wanted[],
  cancelled: AbortSignal,
): Promise<ReadonlyMap<string, Resolved>> {
  const configs = new Map<string, TrainerConfig>()
  const queue = wanted.values()
  const work = async () => {
    for (const { title, experiment, place } of queue) {
      try {
        configs.set(title, await resolveConfig(experiment, 'optimized', place, cancelled))
      } catch (error) {
        throw error instanceof ConfigError ? new ConfigError(`ladder: ${title}: ${messageOf(error)}`) : error
      }
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  const baseline = configs.get('baseline') ?? {}
  return new Map(
    wanted.map((one) => [one.title, resolvedOf(one, baseline, configs.get(one.title) ?? {})] as const),
  )
}

function resolvedOf(wanted: Wanted, baseline: TrainerConfig, config: TrainerConfig): Resolved {
  const { title, experiment } = wanted
  const keys = (kind: Experiment['kind']) => differencesOutside(kind, baseline, config).map(({ key }) => key)
  const forbidden = keys(experiment.kind)
  if (forbidden.length > 0) {
    throw new ConfigError(
      `ladder: ${title}: a ${experiment.kind} experiment may not change ${forbidden.join(', ')}; leave it out, or set kind: recipe for what stands under recipe:`,
    )
  }
  const hash = trainingHash(experiment, { baseline, optimized: config }, 'optimized')
  return { ...wanted, config, hash, otherWork: keys('same-work') }
}

function refuseWithoutEffect(rungs: readonly LadderRung[]): void {
  for (const { name, alone, from } of rungs) {
    if (alone !== from) continue
    throw new ConfigError(
      `ladder: ${name}: sets only what is set without it; change what it sets, or leave it out`,
    )
  }
}

/** The optimized variant stays last, also when it is the sum of some rungs. */
function uniqueTrainings(all: readonly Resolved[]): Resolved[] {
  const last = all.at(-1)
  const others = all.filter(({ hash }, index) => all.findIndex((one) => one.hash === hash) === index)
  return last === undefined ? [] : [...others.filter(({ hash }) => hash !== last.hash), last]
}
