// Judges again what an artifact holds: by the experiment of the base branch, from the raw metrics.
import { assess } from '../assess.ts'
import type { Experiment } from '../config/experiment.ts'
import { type OtherExperiment, otherExperiment } from '../config/same-work/other-experiment.ts'
import { readRecorded } from '../io/load/read-recorded.ts'
import { asInvalid } from '../judge/machine/machine-verdict.ts'
import type { Result } from '../record/result.ts'

export interface JudgedAgain {
  readonly result: Result
  /** In what it was measured otherwise. */
  readonly other: OtherExperiment
}

/** `experiment`: null for the recorded one. Throws a ConfigError for what cannot be read. */
export async function judgeArtifact(
  experiment: Experiment | null,
  branch: string,
  resultFile: string,
): Promise<JudgedAgain> {
  let recorded = experiment
  const { request, launched, watched, reevaluation, profiles } = await readRecorded(resultFile, (found) => {
    recorded = found
    return experiment ?? found
  })
  const result = assess(request, launched, watched, reevaluation, profiles)
  const other = otherExperiment(request.experiment, recorded ?? request.experiment)
  const reasons = other.reasons.map((reason) => `${reason} than the experiment of ${branch} has`)
  return { result: { ...result, verdict: asInvalid(result.verdict, reasons) }, other }
}
