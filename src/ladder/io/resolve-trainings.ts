// Has the trainer resolve the config of many trainings, each once.
import { availableParallelism } from 'node:os'
import type { Experiment } from '../../config/experiment.ts'
import type { TrainerInput } from '../../config/launch/trainer-input.ts'
import type { NumberTexts } from '../../config/parse/number-texts.ts'
import { differencesOutside, type TrainerConfig } from '../../config/same-work/same-work.ts'
import { ConfigError } from '../../errors.ts'
import { resolveConfig } from '../../io/load/resolve-config.ts'
import type { VariantPlace } from '../../io/revisions/variant-places.ts'
import { trainingHash } from '../../judge/noise/noise-floor.ts'
import type { LadderTraining } from '../record.ts'

/** A training that can be launched, as the variant `optimized` of its experiment. */
export interface ResolvedTraining extends LadderTraining {
  readonly experiment: Experiment
  readonly input: TrainerInput
  readonly place: VariantPlace
}

export type TrainingRequest = Pick<ResolvedTraining, 'title' | 'experiment' | 'place'>

export class TrainingResolver {
  readonly #numberTexts: NumberTexts
  readonly #cancelled: AbortSignal
  readonly #inputs = new Map<string, TrainerInput | ConfigError>()

  constructor(numberTexts: NumberTexts, cancelled: AbortSignal) {
    this.#numberTexts = numberTexts
    this.#cancelled = cancelled
  }

  /** By title; a ConfigError for a training that is refused. The first request is the baseline. */
  async resolve(
    requests: readonly TrainingRequest[],
  ): Promise<ReadonlyMap<string, ResolvedTraining | ConfigError>> {
    const queue = requests.values()
    // In parallel: a trainer takes a second to answer, and a ladder asks dozens of times.
    const work = async () => {
      for (const one of queue) await this.#resolveOne(one)
    }
    await Promise.all(Array.from({ length: availableParallelism() }, work))
    const [first] = requests
    const baseline = first && this.#inputs.get(requestKey(first))
    return new Map(
      requests.map((one) => {
        const input = this.#inputs.get(requestKey(one))
        if (input === undefined || baseline === undefined) throw new Error(`${one.title} was not resolved`)
        if (input instanceof ConfigError) return [one.title, input] as const
        return [
          one.title,
          checkedTraining(one, baseline instanceof ConfigError ? {} : baseline.settings, input),
        ] as const
      }),
    )
  }

  async #resolveOne(request: TrainingRequest): Promise<void> {
    const key = requestKey(request)
    if (this.#inputs.has(key)) return
    const { experiment, place, title } = request
    try {
      const input = await resolveConfig(experiment, 'optimized', place, this.#numberTexts, this.#cancelled)
      this.#inputs.set(key, input)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      this.#inputs.set(key, new ConfigError(`ladder: ${title}: ${error.message}`))
    }
  }
}

function requestKey({ experiment: { variants }, place }: TrainingRequest): string {
  return JSON.stringify([variants.optimized, place])
}

function checkedTraining(
  request: TrainingRequest,
  baseline: TrainerConfig,
  input: TrainerInput,
): ResolvedTraining | ConfigError {
  const { title, experiment } = request
  const { settings } = input
  const keys = (kind: Experiment['kind']) =>
    differencesOutside(kind, baseline, settings, experiment.trainer.speed_keys).map(({ key }) => key)
  const forbidden = keys(experiment.kind)
  if (forbidden.length > 0) {
    return new ConfigError(
      `ladder: ${title}: changes ${forbidden.join(', ')}, which a ${experiment.kind} experiment may not. Leave it out, or set kind: recipe for keys under recipe:`,
    )
  }
  const hash = trainingHash(experiment, { baseline, optimized: settings }, 'optimized')
  return { ...request, input, hash, otherWork: keys('same-work') }
}
