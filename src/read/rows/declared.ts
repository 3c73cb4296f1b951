// What the experiment declares in place of its source, and where the facts of a run then come from.
import type { Facts } from '../facts.ts'

/** What the experiment says, since the source does not. */
export interface Declared {
  readonly samples_per_step?: number | undefined
  readonly evaluation_samples?: number | undefined
}

/** `derived`: from clock times. */
export type StepTimes = 'read' | 'derived' | 'unknown'

/** Such a source reports nothing itself, and most facts are unknown. */
export function factsOf(
  { samples_per_step, evaluation_samples }: Declared,
  stepSeconds: StepTimes,
  hasSamples: boolean,
): Facts {
  return {
    step_seconds: stepSeconds,
    samples: hasSamples ? 'read' : samples_per_step === undefined ? 'unknown' : 'declared',
    held_out_loss: 'read',
    held_out_set: evaluation_samples === undefined ? 'unknown' : 'declared',
    training_data: 'unknown',
    config: 'unknown',
    seed: 'unknown',
    world_size: 'unknown',
    parameters: 'unknown',
    memory: 'unknown',
    effective_settings: 'unknown',
  }
}
