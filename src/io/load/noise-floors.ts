// Keeps noise floors: one JSON file for each training and machine, in a folder that outlives a checkout.
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parseStrictly } from '../../config/parse/explain.ts'
import { ConfigError, messageOf, RunError } from '../../errors.ts'
import { type NoiseFloor, noiseFloorSchema } from '../../judge/noise/noise-floor.ts'
import { makeFolder } from '../folder/make-folder.ts'
import { replaceOwnFile } from '../folder/own-file.ts'
import { readWorkflowRun } from '../github/event/event.ts'
import { parseJson } from '../system/parse-json.ts'
import { readText } from '../system/read-text.ts'

/**
 * A floor belongs to a machine, and a runner cleans its checkout before every job: so it is kept with the user's
 * other state (XDG Base Directory Specification), unless a folder is named.
 */
export function noiseFloorFolder(environment: NodeJS.ProcessEnv): string {
  const state = environment.XDG_STATE_HOME || join(homedir(), '.local', 'state')
  return join(state, 'speedproof', 'noise-floors')
}

/** Before anything is measured: throws a ConfigError for a folder that cannot be made or written. */
export async function requireFloorFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder)
  } catch (error) {
    throw new ConfigError(
      `noise-floors: got "${folder}", which cannot be written (${messageOf(error)}); name another folder`,
    )
  }
}

/**
 * Those of these trainings, on whatever machine. `note` tells of a file that is not what it should be: a training may
 * have written it, and must not decide about the experiments after it.
 */
export async function loadNoiseFloors(
  folder: string,
  trainings: readonly string[],
  note: (message: string) => void,
): Promise<NoiseFloor[]> {
  const names = await readdir(folder).catch(() => [])
  const wanted = names.filter(
    (name) => name.endsWith('.json') && trainings.some((training) => name.startsWith(prefixOf(training))),
  )
  const floors: NoiseFloor[] = []
  for (const name of wanted.sort()) {
    const floor = await loadNoiseFloor(join(folder, name))
    if (typeof floor === 'string') note(floor)
    else floors.push(floor)
  }
  return floors
}

/** Or why it cannot be used. */
async function loadNoiseFloor(file: string): Promise<NoiseFloor | string> {
  try {
    return parseStrictly(noiseFloorSchema, parseJson(await readText(file, file), file, 'noise floor'), file)
  } catch (error) {
    return `warning: ${messageOf(error)}\n${file}: this version cannot read this noise floor and goes on without it. Remove it, and measure it again with --mode aa`
  }
}

/** Other events run code that is not merged: of a pull request, a merge group, or what a comment asks for. */
const STORING_EVENTS = ['push', 'schedule', 'workflow_dispatch']

/** Why none may be stored; null where one may: what a pull request measured must not judge those after it. */
export function whyNotStored(): string | null {
  const reading = readWorkflowRun()
  if (reading.status === 'not-in-a-workflow') return null
  const { eventName } = reading.run
  return STORING_EVENTS.includes(eventName)
    ? null
    : `this run is for the event "${eventName}", expected one of ${STORING_EVENTS.join(', ')}; measure it on the default branch`
}

/** Replaces the one of the same training and machine, and answers with its file. */
export async function storeNoiseFloor(folder: string, floor: NoiseFloor): Promise<string> {
  const machine = createHash('sha256').update(floor.key.machine).digest('hex')
  const file = join(folder, `${prefixOf(floor.key.training)}-${machine.slice(0, 8)}.json`)
  try {
    await makeFolder(folder)
    await replaceOwnFile(file, `${JSON.stringify(floor, null, 2)}\n`)
  } catch (error) {
    throw new RunError(
      `noise-floors: cannot write ${file} (${messageOf(error)}); name another folder with noise-floors`,
    )
  }
  return file
}

/** Of the 64 digits; what it stands for is in the file. */
function prefixOf(training: string): string {
  return training.slice(0, 16)
}
