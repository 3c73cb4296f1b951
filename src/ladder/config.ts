// The rungs of an experiment: switches of a training, each measured alone and on top of those before it.
import { z } from 'zod'
import { mapping, settings } from '../config/parse/mapping.ts'
import { ConfigError } from '../errors.ts'

const names = z.array(z.string()).default([])

const rung = mapping({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,59}$/, 'small letters, digits and -, such as compile-blocks'),
  set: settings.describe('What it changes in the baseline, by dotted key, e.g. speed.compile: blocks.'),
  needs: names.describe('Earlier rungs without which it cannot work; alone, it is measured with them.'),
  replaces: names.describe('Earlier rungs that it takes the place of: from here on they are not in the sum.'),
  predicts: z
    .string()
    .optional()
    .describe('The expected gain and its source; shown next to the measured speedup.'),
  note: z.string().optional().describe('Shown below the table.'),
})

export const ladderSection = mapping({
  set: settings
    .default({})
    .describe('Set in every launch, the baseline included, e.g. train.updates: 60 for short launches.'),
  baseline_every: z
    .int()
    .min(1)
    .max(64)
    .default(4)
    .describe('Launches between two of the baseline, which tell how the machine drifts.'),
  rungs: z.array(rung).min(1).max(64),
})

export type Ladder = z.infer<typeof ladderSection>
export type Rung = z.infer<typeof rung>

/** Throws a ConfigError for two rungs of one name, and for one that refers to what does not stand before it. */
export function checkLadder({ rungs }: Ladder, file: string): void {
  const earlier: string[] = []
  for (const { name, set, needs, replaces } of rungs) {
    const where = `${file}: ladder.rungs: ${name}`
    if (earlier.includes(name)) throw new ConfigError(`${where}: there are two of this name; rename one`)
    if (Object.keys(set).length === 0) throw new ConfigError(`${where}.set: is empty; name what it changes`)
    for (const [key, others] of Object.entries({ needs, replaces })) {
      const unknown = others.find((other) => !earlier.includes(other))
      if (unknown === undefined) continue
      const known =
        earlier.length > 0 ? `one of those before it: ${earlier.join(', ')}` : 'none, as the first'
      throw new ConfigError(`${where}.${key}: got "${unknown}", expected ${known}`)
    }
    earlier.push(name)
  }
}
