// The events of a run, from whatever reader -> its record; what is wrong is said with its place, and what came before is kept.
import { addEvent, type Draft, emptyDraft, problemsAtEnd, sourceName } from './draft.ts'
import type { MetricsProblem } from './event-problems.ts'
import type { EvaluationEvent } from './events.ts'
import { ALL_REPORTED, type Facts, factsOfEvents } from './facts.ts'
import type { MetricsRecord } from './metrics-record.ts'
import type { Reader, Source } from './reader.ts'

/** Reads events until the first problem. */
export async function readMetrics(reader: Reader, source: Source): Promise<MetricsRecord> {
  const draft = emptyDraft(reader.name, sourceName(reader), reader.facts)
  for await (const read of reader.read(source)) {
    const problem = 'problem' in read ? read.problem : addEvent(read, draft)
    if (problem) return recordOf(draft, problem)
  }
  return recordOf(draft, problemsAtEnd(draft)[0]?.problem ?? null)
}

export function metricsProblem(kind: MetricsProblem['kind'], message: string): MetricsRecord {
  return recordOf(emptyDraft('', '', ALL_REPORTED), { kind, message })
}

export function recordOf(draft: Draft, problem: MetricsProblem | null): MetricsRecord {
  const { reader, start, steps, phases } = draft
  return { reader, facts: factsIn(draft), start, steps, phases, problem, ...withSamples(draft) }
}

/** Where an event does not count them, those of its steps. */
function withSamples({ steps, evaluations, end }: Draft): Pick<MetricsRecord, 'evaluations' | 'end'> {
  const seen = [0]
  for (const samples of steps.samples) seen.push((seen.at(-1) ?? 0) + samples)
  const all = seen.at(-1) ?? 0
  return {
    evaluations: evaluations.map((one) => ({
      ...one,
      samples_seen: one.samples_seen ?? seen[one.step] ?? all,
    })),
    end: end && { ...end, samples: end.samples ?? all },
  }
}

/** A fact that the trainer leaves out is unknown. */
function factsIn({ readerFacts, start, end, hasSamples, evaluations }: Draft): Facts {
  const isOfKnownSet = (one: Partial<EvaluationEvent>) =>
    (one.data_hash ?? start?.data_hash) !== undefined &&
    (one.evaluation_samples ?? start?.evaluation_samples) !== undefined
  return factsOfEvents(readerFacts, start?.facts ?? {}, {
    samples: hasSamples === false,
    held_out_set: evaluations.length === 0 ? !isOfKnownSet({}) : !evaluations.every(isOfKnownSet),
    training_data: start?.data_hash === undefined,
    config: start?.config === undefined,
    seed: start?.seed === undefined,
    world_size: start?.world_size === undefined,
    parameters: start?.parameter_count === undefined,
    memory: end?.peak_memory_reserved_bytes === undefined && end?.peak_memory_allocated_bytes === undefined,
    effective_settings: Object.keys(start?.effective ?? {}).length === 0,
  })
}
