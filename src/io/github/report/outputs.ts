// Sets the step's outputs.
import { messageOf } from '../../../errors.ts'
import { setInCommandFile } from '../command-files.ts'
import type { Surface } from './surface.ts'

// GitHub allows 1 MB of outputs for a job and counts two bytes per UTF-16 unit. The names count too.
const MAX_TOTAL_UNITS = 1_000_000 / 2
// So that one huge text cannot take the place of the verdict, whatever their order.
const MAX_UNITS_PER_OUTPUT = 65_536

/** Long texts are cut, short ones always arrive. Without GITHUB_OUTPUT (the command line) nothing is set. */
export function writeOutputs(outputs: Readonly<Record<string, string>>): Surface {
  if (!process.env.GITHUB_OUTPUT)
    return {
      status: 'skipped',
      reason: 'GITHUB_OUTPUT is not set, so no outputs were written; this is normal outside a workflow',
    }
  try {
    writeShortestFirst(outputs)
    return { status: 'written' }
  } catch (error) {
    return { status: 'failed', reason: `outputs: ${messageOf(error)}` }
  }
}

function writeShortestFirst(outputs: Readonly<Record<string, string>>): void {
  let unitsLeft = MAX_TOTAL_UNITS - Object.keys(outputs).join('').length
  for (const [name, text] of Object.entries(outputs).toSorted(byLength)) {
    const fitting = text.slice(0, Math.min(MAX_UNITS_PER_OUTPUT, unitsLeft)).toWellFormed()
    setInCommandFile('OUTPUT', name, fitting)
    unitsLeft -= fitting.length
  }
}

function byLength([, a]: [string, string], [, b]: [string, string]): number {
  return a.length - b.length
}
