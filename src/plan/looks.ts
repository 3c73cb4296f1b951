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

/** Can a gate pass at this look? */
export function mayPassAt({ pass_level }: Look): boolean {
  return pass_level > 0
}

/** Of the bound that passes a gate, and of the one that fails it; where a look cannot do one, as for the other. */
export function confidenceOf({ pass_level, fail_level }: Look): {
  readonly pass: number
  readonly fail: number
} {
  return { pass: 1 - (pass_level || fail_level || LARGEST), fail: 1 - (fail_level || pass_level || LARGEST) }
}

const LARGEST = 0.05
