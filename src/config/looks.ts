// When the evidence is looked at, and how often each look may be wrong: `blocks: [4, 6, 8]` or `looks:` -> looks.
import { z } from 'zod'
import { mapping } from './parse/mapping.ts'

export const MOST_BLOCKS = 64
const MOST_LOOKS = 8

/** Of all looks together, on each side: a truth at the limit passes, or fails, in at most 5% of experiments. */
const TOTAL_ERROR = 0.05

/** Rounding would decide below, and no experiment is worth its time above. */
const [SMALLEST_LEVEL, LARGEST_LEVEL] = [0.0001, TOTAL_ERROR]

const blockCount = z.int().min(1).max(MOST_BLOCKS)
const level = z.number().min(SMALLEST_LEVEL).max(LARGEST_LEVEL)

const look = mapping({
  blocks: blockCount.describe('Number of measured blocks after which this look is taken.'),
  pass_level: level.describe(
    'One-sided error rate of the bound that passes a gate: 0.05 is a bound at 95% confidence.',
  ),
  fail_level: level.describe(
    'One-sided error rate of the bound that fails a gate; for now it must equal pass_level.',
  ),
})

export type Look = z.infer<typeof look>

/** Both forms of an experiment file, of which it has at most one. */
export const LOOK_KEYS = {
  blocks: z
    .union([blockCount, z.array(blockCount).min(1).max(MOST_LOOKS)], {
      error: 'a whole number of blocks from 1 to 64, or an increasing list such as [4, 6, 8]',
    })
    .optional()
    .describe(
      'Number of blocks, each one run of both variants; an even number cancels linear drift. With a list, the experiment stops at the first number of blocks that is enough to decide. All looks together err in at most 5% on each side. Default [4, 6, 8].',
    ),
  looks: z
    .array(look)
    .min(1)
    .max(MOST_LOOKS)
    .optional()
    .describe('Instead of blocks: the looks, each with its own error rates.'),
}

const DEFAULT_BLOCKS: readonly number[] = [4, 6, 8]

/** The short form; Bonferroni: stopping at the first look that decides still errs in at most 5% of cases. */
export function looksAfter(blocks: number | readonly number[]): Look[] {
  const counts = typeof blocks === 'number' ? [blocks] : blocks
  const share = TOTAL_ERROR / counts.length
  return counts.map((count) => ({ blocks: count, pass_level: share, fail_level: share }))
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
      'increasing numbers of blocks such as [4, 6, 8]',
    )
  const uneven = found.find((one) => one.pass_level !== one.fail_level)
  if (uneven !== undefined)
    refuse('looks', looks, 'equal pass_level and fail_level in each look, such as 0.0166 for both')
  return { ...design, looks: found }
}
