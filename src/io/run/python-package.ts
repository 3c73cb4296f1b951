// Puts our Python package on the path of a training, so that nobody has to install it.
import { delimiter, join } from 'node:path'
import type { Reader } from '../../read/reader.ts'
import { packageRoot } from '../system/package-root.ts'

/**
 * Last, so that it hides no module of the training. A reader that needs the recorder has it switched on in every Python
 * process of the launch, by a sitecustomize of its own that has to come first.
 */
export function packageVariables(
  reader: Reader,
  runDirectory: string,
  named: Readonly<Record<string, string>>,
): Record<string, string> {
  const folder = join(packageRoot(), 'python')
  const recording = reader.environment?.(runDirectory)
  const switched = recording === undefined ? [] : [join(folder, 'speedproof', 'site')]
  const own = named.PYTHONPATH === undefined || named.PYTHONPATH === '' ? [] : [named.PYTHONPATH]
  return { ...recording, PYTHONPATH: [...switched, ...own, folder].join(delimiter) }
}
