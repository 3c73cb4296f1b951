// When the evidence is looked at, and how often each look may be wrong: `blocks: [2, 4, 6, 8]` or `looks:` -> looks.
import { z } from 'zod'
import { shares, spendingLevels } from '../statistics/spending.ts'
import { mapping } from './parse/mapping.ts'

export const MOST_BLOCKS = 64
const MOST_LOOKS = 8

/** Of all looks together, on each side: a truth at the limit passes, or fails, in at most 5% of experiments. */
const TOTAL_ERROR = 0.05

/** Rounding would decide below, and no experiment is worth its time above. */
const [SMALLEST_LEVEL, LARGEST_LEVEL] = [0.0001, TOTAL_ERROR]

const blockCount = z.int().min(1).max(MOST_BLOCKS)
const level = z.number().min(0).max(LARGEST_LEVEL)

const look = mapping({
  blocks: blockCount.describe('Number of measured blocks after which this look is taken.'),
  pass_level: level.describe(
    'One-sided error rate of the bound that passes a gate: 0.05 is a bound at 95% confidence. With 0 this look can only fail, and only gates on time.',
  ),
  fail_level: level.describe(
    'One-sided error rate of the bound that fails a gate. With 0 no interval fails a gate at this look.',
  ),
})

export type Look = z.infer<typeof look>

/** Both forms of an experiment file, of which it has at most one. */
export const LOOK_KEYS = {
  blocks: z
    .union([blockCount, z.array(blockCount).min(1).max(MOST_LOOKS)], {
      error: 'a whole number of blocks from 1 to 64, or an increasing list such as [2, 4, 6, 8]',
    })
    .optional()
    .describe(
      'Number of blocks, each one run of both variants; an even number cancels linear drift. With a list, the experiment stops at the first number of blocks that is enough to decide. In a list, a look before 3 blocks can only fail. All looks together err in at most 5% on each side. Default [2, 4, 6, 8].',
    ),
  looks: z
    .array(look)
    .min(1)
    .max(MOST_LOOKS)
    .optional()
    .describe('Instead of blocks: the looks, each with its own error rates.'),
}

const DEFAULT_BLOCKS: readonly number[] = [2, 4, 6, 8]

/** A look before so many, unless it is the last one, is too early to pass: held-out numbers have no interval yet. */
const FEWEST_TO_PASS = 3

/**
 * The short form. Levels that pass add up to 5%: the rest that looks at the same blocks would allow is kept for
 * blocks that depend on each other. Levels that fail spend all of it.
 */
export function looksAfter(blocks: number | readonly number[]): Look[] {
  const counts = typeof blocks === 'number' ? [blocks] : blocks
  if (counts.length === 1)
    return counts.map((count) => ({ blocks: count, pass_level: TOTAL_ERROR, fail_level: TOTAL_ERROR }))
  const last = counts.at(-1) ?? 0
  const pass = levels(counts, (count) => count >= FEWEST_TO_PASS || count === last, shares)
  const fail = levels(counts, (count) => count >= FEWEST_FOR_INTERVAL, spendingLevels)
  return counts.map((count) => ({
    blocks: count,
    pass_level: pass.get(count) ?? 0,
    fail_level: fail.get(count) ?? 0,
  }))
}

const FEWEST_FOR_INTERVAL = 2

/** Of the looks that may decide; rounded down, so that they read as they are. */
function levels(
  counts: readonly number[],
  mayDecide: (count: number) => boolean,
  levelsOf: typeof spendingLevels,
): Map<number, number> {
  const deciding = counts.filter(mayDecide)
  const found = levelsOf(deciding, TOTAL_ERROR)
  return new Map(deciding.map((count, index) => [count, Math.floor((found[index] ?? 0) * 1e5) / 1e5]))
}

interface DesignKeys {
  readonly blocks?: number | number[] | undefined
  readonly looks?: Look[] | undefined
}

/** For zod: a design with looks, whichever form it has in the file. */
export function withLooks<Design extends DesignKeys>(
  { blocks, looks, ...design }: Design,
  context: z.RefinementCtx,
): Omit<Design, keyof DesignKeys> & { looks: Look[] } {
  const refuse = (key: keyof DesignKeys, input: unknown, message: string) =>
    context.addIssue({ code: 'custom', path: [key], input, message })
  const found = looks ?? looksAfter(blocks ?? DEFAULT_BLOCKS)
  if (looks !== undefined && blocks !== undefined)
    refuse('looks', looks, 'only one of design.looks and design.blocks; remove the other')
  if (found.some((one, index) => one.blocks <= (found[index - 1]?.blocks ?? 0)))
    refuse(
      looks === undefined ? 'blocks' : 'looks',
      looks ?? blocks,
      'increasing numbers of blocks such as [2, 4, 6, 8]',
    )
  const isTiny = (rate: number) => rate > 0 && rate < SMALLEST_LEVEL
  if (found.some(({ pass_level, fail_level }) => isTiny(pass_level) || isTiny(fail_level)))
    refuse('looks', looks, `levels of 0, or of at least ${SMALLEST_LEVEL}`)
  if (found.at(-1)?.pass_level === 0)
    refuse('looks', looks, 'a last look that can pass, with a pass_level above 0')
  return { ...design, looks: found }
}
