// Judges recorded experiments again, by the gates of this call.
import { assess } from '../assess.ts'
import { readRecorded, withGates } from '../io/load/read-recorded.ts'
import { type Combined, combine } from '../record/combined.ts'
import type { Result } from '../record/result.ts'
import { type Flags, overridesOf } from './options.ts'

export async function rejudge(resultFiles: readonly string[], flags: Flags): Promise<Combined> {
  const results: Result[] = []
  for (const file of resultFiles) {
    const read = await readRecorded(file, (recorded) =>
      withGates(recorded, flags.gates ?? null, overridesOf(flags)),
    )
    results.push(assess(read.request, read.launched, read.watched, read.reevaluation, read.profiles))
  }
  return combine(results)
}
