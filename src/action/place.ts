// Where a job that measures shows its result, and what it calls its artifact: from its inputs and its run alone.
import type { MeasureInputs } from '../config/overrides/action-inputs.ts'
import { artifactName } from '../io/github/artifact/artifact.ts'
import { isMergeGroup, readWorkflowRun, type WorkflowRunReading } from '../io/github/event/event.ts'
import type { Place } from '../io/github/report/publish.ts'
import { checkName } from '../report/github/check.ts'
import { keyOf } from '../report/github/comment-marker.ts'

/** Null uploads nothing. `experiment`: the name of all of the call. */
export function artifactNameOf(
  experiment: string,
  { artifactName: given, leg }: MeasureInputs,
): string | null {
  const reading = readWorkflowRun()
  if (given === null || reading.status === 'not-in-a-workflow') return null
  const { job, runAttempt } = reading.run
  return given || artifactName({ experiment, job, attempt: runAttempt, leg })
}

/** Null where this job shows nothing on GitHub. */
export function placeOf(experiment: string, inputs: MeasureInputs): Place | null {
  const reading = readWorkflowRun()
  if (reading.status === 'not-in-a-workflow' || whyNotShown(reading, inputs) !== null) return null
  const { run } = reading
  const key = keyOf(experiment, run.job, inputs.leg)
  return {
    ...run,
    key,
    token: inputs.token,
    checkName: checkName(key, run.otherBase),
    pull: run.pullNumber === null ? null : { number: run.pullNumber, headSha: run.headSha },
  }
}

export function whyNotShown(reading: WorkflowRunReading, { report }: MeasureInputs): string | null {
  if (reading.status === 'not-in-a-workflow') return reading.reason
  if (report === 'artifact') return 'report is artifact'
  return reading.run.pullNumber === null && !isMergeGroup(reading.run)
    ? 'this run is not about a pull request'
    : null
}
