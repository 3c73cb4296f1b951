// Reads the action's raw inputs; src/config/ gives them their types.
import { getInput } from '@actions/core'

/** The text of each input, trimmed; an input that the workflow leaves out and that has no default is ''. */
export function readRawInputs(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, getInput(name)]))
}
