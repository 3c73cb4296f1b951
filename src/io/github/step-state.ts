// Carries texts from the main step to its post step, which may find the machine after a kill.
import { getState } from '@actions/core'
import { setInCommandFile } from './command-files.ts'

/**
 * Keep texts short: post gets each as an environment variable, and over 128 KiB Linux refuses to start it.
 * Outside of a runner there is no post step, so there is nothing to save for.
 */
export function saveState(name: string, text: string): void {
  setInCommandFile('STATE', name, text)
}

/** '' when main saved nothing under this name. */
export function readState(name: string): string {
  return getState(name)
}
