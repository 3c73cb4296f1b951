// The interpreter that an experiment names, as a path that means the same from every folder.
import { resolve } from 'node:path'

/** A name without a slash is looked up on PATH; a relative path is meant from the working directory. */
export function pythonPath(python: string, workingDirectory: string): string {
  return python.includes('/') ? resolve(workingDirectory, python) : python
}
