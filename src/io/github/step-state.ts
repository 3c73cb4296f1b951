// Carries texts from the main step to its post step, which may find the machine after a kill.
import { getState, saveState as saveToRunner } from '@actions/core'

/**
 * Keep texts short: post gets each as an environment variable, and over 128 KiB Linux refuses to start it.
 * Outside of a runner there is no post step, so there is nothing to save for.
 */
export function saveState(name: string, text: string): void {
  // Without the file, @actions/core would print a `::save-state` command, which runners no longer obey.
  if (process.env.GITHUB_STATE) saveToRunner(name, text)
}

/** '' when main saved nothing under this name. */
export function readState(name: string): string {
  return getState(name)
}
