// A ladder with all of its trainings, resolved by the trainer before any of them is launched.
import type { Experiment } from '../../config/experiment.ts'
import type { Settings } from '../../config/parse/mapping.ts'
import type { NumberTexts } from '../../config/parse/number-texts.ts'
import { ConfigError } from '../../errors.ts'
import type { VariantPlaces } from '../../io/revisions/variant-places.ts'
import { lastConclusiveLaunch } from '../measurement.ts'
import { type RungSettings, rungSettings } from '../plan.ts'
import type { LadderLaunch, LadderRung, TrainingHash } from '../record.ts'
import { type ResolvedTraining, type TrainingRequest, TrainingResolver } from './resolve-trainings.ts'

export interface ResolvedLadder {
  readonly baseline: ResolvedTraining
  /** In the order of their launches; the first is the baseline, the last the optimized variant. */
  readonly trainings: readonly ResolvedTraining[]
  readonly rungs: readonly LadderRung[]
}

/** The ladder to launch after these launches: a rung by which its sum failed stays out of later sums. */
export type LadderResolver = (launches: readonly LadderLaunch[]) => Promise<ResolvedLadder>

/** The answer throws a ConfigError for a rung that the trainer refuses, that changes nothing, or more than it may. */
export function ladderResolver(
  experiment: Experiment,
  settings: Settings,
  places: VariantPlaces,
  numberTexts: NumberTexts,
  cancelled: AbortSignal,
): LadderResolver {
  const { ladder } = experiment
  if (ladder === undefined) {
    throw new ConfigError(
      `ladder: missing in ${experiment.name}; expected a list of rungs. Give each rung a name and its settings`,
    )
  }
  const resolver = new TrainingResolver(numberTexts, cancelled)
  const extended = withSettings(experiment, settings)
  return async (launches) => {
    const leftOut = new Set<string>()
    for (;;) {
      const rungSets = rungSettings(ladder, leftOut)
      const resolved = await resolver.resolve(trainingRequests(rungSets, extended, places))
      const failed = rungSets.find(({ rung: { name } }) => {
        if (leftOut.has(name)) return false
        const sum = resolved.get(sumTitle(name))
        // Without a rung that failed, the trainer may refuse one that needs it.
        if (sum instanceof ConfigError) return leftOut.size > 0
        return sum !== undefined && hasFailed(sum.hash, launches)
      })
      if (failed === undefined) return resolvedLadder(rungSets, resolved, leftOut)
      leftOut.add(failed.rung.name)
    }
  }
}

/** What is set in every launch of a ladder: by the file, then by flags. */
function withSettings(experiment: Experiment, settings: Settings): Experiment {
  const { baseline, optimized } = experiment.variants
  const extend = (variant: typeof baseline) => ({ ...variant, set: { ...variant.set, ...settings } })
  return { ...experiment, variants: { baseline: extend(baseline), optimized: extend(optimized) } }
}

function hasFailed(hash: TrainingHash, launches: readonly LadderLaunch[]): boolean {
  return lastConclusiveLaunch(hash, launches)?.launched.outcome.status === 'failed'
}

const BASELINE = 'baseline'
const OPTIMIZED = 'optimized variant'
const aloneTitle = (name: string) => `${name} alone`
const needsTitle = (name: string) => `what ${name} needs`
const sumTitle = (name: string) => `sum up to ${name}`

/** Every training of a ladder is the optimized variant of an experiment of its own. */
function trainingRequests(
  rungSets: readonly RungSettings[],
  short: Experiment,
  places: VariantPlaces,
): TrainingRequest[] {
  const { baseline } = short.variants
  const place = places.baseline
  const withSet = (title: string, set: Settings): TrainingRequest => {
    const optimized = { ...baseline, set: { ...baseline.set, ...set } }
    return { title, place, experiment: { ...short, variants: { baseline, optimized } } }
  }
  return [
    withSet(BASELINE, {}),
    ...rungSets.flatMap(({ rung: { name }, alone, needs, sum }) => [
      ...(needs === null ? [] : [withSet(needsTitle(name), needs)]),
      withSet(aloneTitle(name), alone),
      withSet(sumTitle(name), sum),
    ]),
    { title: OPTIMIZED, place: places.optimized, experiment: short },
  ]
}

function resolvedLadder(
  rungSets: readonly RungSettings[],
  resolved: ReadonlyMap<string, ResolvedTraining | ConfigError>,
  leftOut: ReadonlySet<string>,
): ResolvedLadder {
  const find = (title: string): ResolvedTraining => {
    const found = resolved.get(title)
    if (found instanceof ConfigError) throw found
    if (found === undefined) throw new Error(`no training of the title ${title}`)
    return found
  }
  // What is wrong with the baseline is wrong with all.
  const baseline = find(BASELINE)
  refuseSameVariants(baseline, find(OPTIMIZED))
  const isRefused = (name: string) => leftOut.has(name) && resolved.get(sumTitle(name)) instanceof ConfigError
  const rungs = rungSets.map(({ rung: { name, ...rung }, needs, sumBefore }) => ({
    name,
    needs: rung.needs,
    predicts: rung.predicts ?? null,
    note: rung.note ?? null,
    alone: find(aloneTitle(name)).hash,
    from: find(needs === null ? BASELINE : needsTitle(name)).hash,
    sum: isRefused(name) ? null : find(sumTitle(name)).hash,
    sumBefore: find(sumBefore === null ? BASELINE : sumTitle(sumBefore)).hash,
    isLeftOut: leftOut.has(name),
  }))
  refuseRungsWithoutEffect(rungs)
  const trainings = [...resolved]
    .filter(([title]) => !rungSets.some(({ rung: { name } }) => isRefused(name) && title === sumTitle(name)))
    .map(([title]) => find(title))
  return { baseline, trainings: uniqueTrainings(trainings), rungs }
}

/** The baseline is launched between all others, and what is the same training is launched as one. */
function refuseSameVariants(baseline: ResolvedTraining, optimized: ResolvedTraining): void {
  if (baseline.hash !== optimized.hash) return
  throw new ConfigError(
    'ladder: with the settings of the ladder, baseline and optimized variant are the same training. Change ladder.set, --set or the variants, or leave out mode: aa',
  )
}

function refuseRungsWithoutEffect(rungs: readonly LadderRung[]): void {
  for (const { name, alone, from } of rungs) {
    if (alone !== from) continue
    throw new ConfigError(
      `ladder: ${name}: changes nothing, since the training has the same settings without it. Change its settings, or remove the rung`,
    )
  }
}

/** The optimized variant stays last, also when it is the sum of some rungs. */
function uniqueTrainings(all: readonly ResolvedTraining[]): ResolvedTraining[] {
  const last = all.at(-1)
  const others = all.filter(({ hash }, index) => all.findIndex((one) => one.hash === hash) === index)
  return last === undefined ? [] : [...others.filter(({ hash }) => hash !== last.hash), last]
}
