// All that is wrong with a metrics file at once, for a person who is writing a trainer.
import { isMapping } from '../config/same-work/differences.ts'
import { addEvent, type Draft, emptyDraft, problemsAtEnd, schemaProblem, sourceName } from './draft.ts'
import { type MetricsProblem, refusalProblem } from './event-problems.ts'
import { MAX_STEPS, rawColumns, STEPS_AT_ONCE } from './event-size.ts'
import { metricsEvent } from './events.ts'
import type { MetricsRecord } from './metrics-record.ts'
import { recordOf } from './read-metrics.ts'
import type { ReadEvent, Reader, Source } from './reader.ts'

/** What the file holds, and up to `most` problems. */
export async function checkMetrics(
  reader: Reader,
  source: Source,
  most: number,
): Promise<{ readonly record: MetricsRecord; readonly problems: readonly MetricsProblem[] }> {
  const draft = emptyDraft(reader.name, sourceName(reader), reader.facts)
  const problems: MetricsProblem[] = []
  /** What was there, if only with a problem. */
  const seen = new Set<unknown>()
  let endsWithProblem = false
  for await (const read of reader.read(source)) {
    const found = 'problem' in read ? [read.problem] : problemsOf(read, draft)
    if ('event' in read) {
      const kind = isMapping(read.event) ? read.event.event : undefined
      seen.add(kind)
      if (found.length > 0) goOnAfter(read.event, draft)
    } else {
      // It was meant as some event; only the last one as the end.
      for (const kind of ['run_start', 'steps', 'evaluation']) seen.add(kind)
    }
    endsWithProblem = 'problem' in read
    problems.push(...found)
    if (problems.length >= most) break
  }
  if (endsWithProblem) seen.add('run_end')
  if (problems.length < most)
    problems.push(...problemsAtEnd(draft).flatMap(({ event, problem }) => (seen.has(event) ? [] : [problem])))
  return { record: recordOf(draft, problems[0] ?? null), problems: problems.slice(0, most) }
}

/** All that the schema says of one event, which may be much for a column. */
const MOST_OF_EVENT = 5

function problemsOf(read: Extract<ReadEvent, { where: string }>, draft: Draft): MetricsProblem[] {
  const { event, where } = read
  const length = Math.max(0, ...Object.values(rawColumns(event) ?? {}).map((column) => column.length))
  const refused = refusalProblem(event, where)
  if (refused) return [refused]
  if (read.characters <= MAX_CHECKED_CHARACTERS && length <= STEPS_AT_ONCE) {
    const parsed = metricsEvent.safeParse(event)
    if (!parsed.success)
      return parsed.error.issues.slice(0, MOST_OF_EVENT).map((issue) => schemaProblem(issue, event, where))
  }
  const problem = addEvent(read, draft)
  return problem ? [problem] : []
}

/** A larger event is judged by its size first. */
const MAX_CHECKED_CHARACTERS = 1024 * 1024

/** As if the event had been right, so that what follows is not held against it. */
function goOnAfter(event: unknown, draft: Draft): void {
  draft.start ??= { event: 'run_start', schema_version: 1 }
  if (!isMapping(event)) return
  const { first_step: first, step_seconds: seconds } = event
  if (event.event !== 'steps' || typeof first !== 'number' || !Array.isArray(seconds)) return
  const last = Math.min(first + seconds.length - 1, MAX_STEPS)
  while (draft.steps.seconds.length < last) {
    draft.steps.seconds.push(0)
    draft.steps.samples.push(draft.steps.samples.at(-1) ?? 1)
  }
}
