// Judges again what an artifact holds: by the experiment of the base branch, from the raw metrics.
import { assess } from '../assess.ts'
import type { Experiment } from '../config/experiment.ts'
import { type OtherExperiment, otherExperiment } from '../config/same-work/other-experiment.ts'
import { readRecorded } from '../io/load/read-recorded.ts'
import { asInvalid } from '../judge/machine/machine-verdict.ts'
import type { Result } from '../record/result.ts'
import { pointsPerCurve } from '../report/html/page.ts'
import { reportedExperiment } from '../report/html/reported.ts'
import type { ReportedExperiment } from '../report/html/section.ts'

export interface JudgedAgain {
  readonly result: Result
  /** In what it was measured otherwise. */
  readonly other: OtherExperiment
}

interface Judged extends JudgedAgain {
  /** For a page of so many experiments. */
  readonly reported: (experiments: number) => ReportedExperiment
}

/** `experiment`: null for the recorded one. Throws a ConfigError for what cannot be read. */
export async function judgeArtifact(
  experiment: Experiment | null,
  branch: string,
  resultFile: string,
): Promise<Judged> {
  let recorded = experiment
  const { request, launched, watched, reevaluation, profiles } = await readRecorded(resultFile, (found) => {
    recorded = found
    return experiment ?? found
  })
  const assessed = assess(request, launched, watched, reevaluation, profiles)
  const other = otherExperiment(request.experiment, recorded ?? request.experiment)
  const reasons = other.reasons.map((reason) => `${reason} than the experiment of ${branch} has`)
  const result = { ...assessed, verdict: asInvalid(assessed.verdict, reasons) }
  const reported = (experiments: number) =>
    reportedExperiment(result, launched, watched, pointsPerCurve(experiments))
  return { result, other, reported }
}
