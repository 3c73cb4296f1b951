// Finds the folder that holds action.yml, wherever the code runs from: src/, lib/ or dist/.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Files that are read at run time and not bundled, such as src/io/process/reaper.py, are found from here. */
export function packageRoot(start: string = import.meta.dirname): string {
  // package.json would not do as the sign: dist has one of its own.
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'action.yml'))) return folder
    if (folder === dirname(folder)) throw new Error(`no action.yml in ${start} or any folder above it`)
  }
}

export function packageVersion(): string {
  return String(JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')).version)
}
