// When the evidence is looked at: after which blocks an experiment may stop, and how sure each bound is then.
import type { Experiment } from '../config/experiment.ts'
import type { Look } from '../config/looks.ts'

/** Numbers of blocks, growing; the last is the most that is run. */
export function looksOf({ design }: Experiment): readonly number[] {
  return design.looks.map(({ blocks }) => blocks)
}

/**
 * The look that judges so many blocks. Between two looks it is the next one: the one before has already had its share
 * of the errors.
 */
export function lookAt({ design }: Experiment, blocks: number): Look {
  const look = design.looks.find((one) => one.blocks >= blocks) ?? design.looks.at(-1)
  if (look === undefined) throw new Error('a design has at least one look')
  return look
}

/** Of each one-sided bound. Parsing refuses a look whose two levels differ. */
export function confidenceOf({ pass_level }: Look): number {
  return 1 - pass_level
}
