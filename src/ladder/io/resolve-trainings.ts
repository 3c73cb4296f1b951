// Has the trainer resolve the config of many trainings, each once.
import { availableParallelism } from 'node:os'
import type { Experiment } from '../../config/experiment.ts'
import { differencesOutside, type TrainerConfig } from '../../config/same-work/same-work.ts'
import { ConfigError } from '../../errors.ts'
import { resolveConfig } from '../../io/load/resolve-config.ts'
import type { VariantPlace } from '../../io/revisions/variant-places.ts'
import { trainingHash } from '../../judge/checks/noise-floor.ts'
import type { LadderTraining } from '../record.ts'

/** A training that can be launched, as the variant `optimized` of its experiment. */
export interface ResolvedTraining extends LadderTraining {
  readonly experiment: Experiment
  readonly config: TrainerConfig
  readonly place: VariantPlace
}

export type TrainingRequest = Pick<ResolvedTraining, 'title' | 'experiment' | 'place'>

export class TrainingResolver {
  readonly #cancelled: AbortSignal
  readonly #answers = new Map<string, TrainerConfig | ConfigError>()

  constructor(cancelled: AbortSignal) {
    this.#cancelled = cancelled
  }

  /** By title; of one that is refused, why. The first is the baseline, which the others are compared with. */
  async resolve(
    wanted: readonly TrainingRequest[],
  ): Promise<ReadonlyMap<string, ResolvedTraining | ConfigError>> {
    const queue = wanted.values()
    // Side by side: a trainer takes a second to answer, and a ladder asks dozens of times.
    const work = async () => {
      for (const one of queue) await this.#ask(one)
    }
    await Promise.all(Array.from({ length: availableParallelism() }, work))
    const [first] = wanted
    const baseline = first && this.#answers.get(keyOf(first))
    return new Map(
      wanted.map((one) => {
        const config = this.#answers.get(keyOf(one))
        if (config === undefined || baseline === undefined) throw new Error(`${one.title} was not resolved`)
        if (config instanceof ConfigError) return [one.title, config] as const
        return [one.title, resolvedOf(one, baseline instanceof ConfigError ? {} : baseline, config)] as const
      }),
    )
  }

  async #ask(wanted: TrainingRequest): Promise<void> {
    const key = keyOf(wanted)
    if (this.#answers.has(key)) return
    const { experiment, place, title } = wanted
    try {
      this.#answers.set(key, await resolveConfig(experiment, 'optimized', place, this.#cancelled))
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      this.#answers.set(key, new ConfigError(`ladder: ${title}: ${error.message}`))
    }
  }
}

function keyOf({ experiment: { variants }, place }: TrainingRequest): string {
  return JSON.stringify([variants.optimized, place])
}

function resolvedOf(
  wanted: TrainingRequest,
  baseline: TrainerConfig,
  config: TrainerConfig,
): ResolvedTraining | ConfigError {
  const { title, experiment } = wanted
  const keys = (kind: Experiment['kind']) => differencesOutside(kind, baseline, config).map(({ key }) => key)
  const forbidden = keys(experiment.kind)
  if (forbidden.length > 0) {
    return new ConfigError(
      `ladder: ${title}: a ${experiment.kind} experiment may not change ${forbidden.join(', ')}; leave it out, or set kind: recipe for what stands under recipe:`,
    )
  }
  const hash = trainingHash(experiment, { baseline, optimized: config }, 'optimized')
  return { ...wanted, config, hash, otherWork: keys('same-work') }
}
