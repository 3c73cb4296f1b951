// Judges recorded experiments again, by the gates of this call.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { assess } from '../assess.ts'
import { type Reading, readRecorded, withGates } from '../io/load/read-recorded.ts'
import { type Combined, combine } from '../record/combined.ts'
import type { Result } from '../record/result.ts'
import { type Flags, overridesOf } from './options.ts'

export async function rejudge(resultFiles: readonly string[], flags: Flags): Promise<Combined> {
  return combine(await rejudgeEach(resultFiles, flags, ({ result }) => result))
}

/** Keeps of each experiment what `keep` makes of it: all of them may be too much for one memory. */
export async function rejudgeEach<Kept>(
  resultFiles: readonly string[],
  flags: Flags,
  keep: (judged: { readonly result: Result; readonly read: Reading }) => Kept,
): Promise<Kept[]> {
  const kept: Kept[] = []
  for (const file of resultFiles) {
    const read = await readRecorded(inFolder(file), (recorded) =>
      withGates(recorded, flags.gates ?? null, overridesOf(flags)),
    )
    const result = assess(read.request, read.launched, read.watched, read.reevaluation, read.profiles)
    kept.push(keep({ result, read }))
  }
  return kept
}

/** A folder with a result.json stands for it. */
function inFolder(path: string): string {
  const result = join(path, 'result.json')
  return existsSync(result) ? result : path
}
