// Reads what the Python package of Speedproof records: the file of the contract, with samples declared where it cannot see them.

import type { SourceOf } from '../../config/metrics.ts'
import { isMapping } from '../../config/same-work/differences.ts'
import { TRAINER_FOLDER } from '../../plan/torchrun.ts'
import { problemAt } from '../event-problems.ts'
import type { ReadEvent, Reader } from '../reader.ts'
import { speedproof } from '../speedproof.ts'

export function recorder({
  format,
  samples_per_step: each,
  evaluation_samples,
}: SourceOf<'recorder'>): Reader {
  return {
    ...speedproof,
    name: format,
    facts: {
      ...speedproof.facts,
      ...(each === undefined ? {} : { samples: 'declared' as const }),
      ...(evaluation_samples === undefined ? {} : { held_out_set: 'declared' as const }),
    },
    // Where the package has to write, in every process of the launch.
    environment: (directory) => ({ SPEEDPROOF_RECORD: `${directory}/${TRAINER_FOLDER}` }),
    async *read(source) {
      let samples = 0
      for await (const read of speedproof.read(source)) {
        if ('problem' in read || !isMapping(read.event)) {
          yield read
          continue
        }
        const { event, where } = read
        samples += each !== undefined && event.event === 'steps' ? each * stepsOf(event) : 0
        yield withDeclared({ ...read, event, where })
      }

      function withDeclared(
        read: Extract<ReadEvent, { where: string }> & { event: Record<string, unknown> },
      ): ReadEvent {
        const { event, where } = read
        if (event.event === 'run_start' && evaluation_samples !== undefined)
          return {
            ...read,
            event: { ...event, evaluation_samples: event.evaluation_samples ?? evaluation_samples },
          }
        if (each === undefined) return read
        if (event.event === 'steps') {
          const other = Array.isArray(event.samples)
            ? event.samples.find((count) => count !== each)
            : undefined
          return other === undefined
            ? { ...read, event: { ...event, samples: event.samples ?? Array(stepsOf(event)).fill(each) } }
            : {
                problem: problemAt(
                  where,
                  'malformed',
                  `samples has ${JSON.stringify(other)}, but metrics.samples_per_step is ${each}. Leave samples_per_step out, or correct it`,
                ),
              }
        }
        if (event.event === 'evaluation' && typeof event.step === 'number')
          return { ...read, event: { ...event, samples_seen: event.samples_seen ?? event.step * each } }
        return event.event === 'run_end'
          ? { ...read, event: { ...event, samples: event.samples ?? samples } }
          : read
      }
    },
  }
}

function stepsOf({ step_seconds: seconds }: Readonly<Record<string, unknown>>): number {
  return Array.isArray(seconds) ? seconds.length : 0
}
