// The rungs of an experiment: switches of a training, each measured alone and on top of those before it.
import { z } from 'zod'
import { mapping, settings } from '../config/parse/mapping.ts'
import { ConfigError } from '../errors.ts'

const names = z.array(z.string()).default([])

const rung = mapping({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,59}$/, 'lowercase letters, digits and -, such as compile-blocks'),
  set: settings.describe('What it changes in the baseline, by dotted key, e.g. speed.compile: blocks.'),
  needs: names.describe('Earlier rungs that it depends on; alone, it is measured with them.'),
  replaces: names.describe('Earlier rungs that it replaces; from this rung on, they are not in the sum.'),
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
    .describe('Number of launches between two baseline launches, which show how the machine drifts.'),
  rungs: z.array(rung).min(1).max(64),
})

export type Ladder = z.infer<typeof ladderSection>
export type Rung = z.infer<typeof rung>

/** Throws a ConfigError for two rungs of one name, and for one that refers to what does not stand before it. */
export function checkLadder({ rungs }: Ladder, file: string): void {
  const earlier: string[] = []
  for (const { name, set, needs, replaces } of rungs) {
    const where = `${file}: ladder.rungs: ${name}`
    if (earlier.includes(name)) throw new ConfigError(`${where}: two rungs have this name; rename one`)
    if (Object.keys(set).length === 0)
      throw new ConfigError(`${where}.set: got {}, expected at least one setting that the rung changes`)
    for (const [key, others] of Object.entries({ needs, replaces })) {
      const unknown = others.find((other) => !earlier.includes(other))
      if (unknown === undefined) continue
      const known =
        earlier.length > 0
          ? `one of the earlier rungs: ${earlier.join(', ')}`
          : 'an empty list, since this is the first rung'
      throw new ConfigError(`${where}.${key}: got "${unknown}", expected ${known}`)
    }
    earlier.push(name)
  }
}
