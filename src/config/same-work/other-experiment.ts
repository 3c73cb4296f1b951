// Was it measured with the experiment that judges it? Other gates are; another trainer, variant or environment is not.

import type { Experiment } from '../experiment.ts'
import { type Difference, differencesOf } from './differences.ts'

/** By these it is judged, or they say no more than where an interpreter is and how long one waits. */
const HARMLESS = [
  'name',
  'gates',
  'design',
  'ladder',
  'profile',
  'launch.python',
  'launch.timeout_minutes',
  'launch.lock_minutes',
  'launch.price_per_gpu_hour',
]

export interface OtherExperiment {
  /** `baseline` is what counts, `optimized` what it was measured with. */
  readonly changes: readonly Difference[]
  /** Those for which it is another measurement, as texts. */
  readonly reasons: readonly string[]
}

export function otherExperiment(judgedBy: Experiment, measuredBy: Experiment): OtherExperiment {
  const changes = differencesOf(judgedBy, measuredBy, [])
  const isHarmless = ({ key }: Difference) =>
    HARMLESS.some((harmless) => key === harmless || key.startsWith(`${harmless}.`))
  const keys = changes.filter((change) => !isHarmless(change)).map(({ key }) => key)
  return { changes, reasons: keys.length === 0 ? [] : [`measured with another ${keys.join(', ')}`] }
}
