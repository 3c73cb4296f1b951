// Puts our Python package on the path of a training, so that nobody has to install it.
import { delimiter, join } from 'node:path'
import type { Reader } from '../../read/reader.ts'
import { packageRoot } from '../system/package-root.ts'

export function packageFolder(): string {
  return join(packageRoot(), 'python')
}

/**
 * Last, so that it hides no module of the training. A reader that needs the recorder has it switched on in every Python
 * process of the launch, by a sitecustomize of its own that has to come first.
 */
export function packageVariables(
  reader: Reader,
  runDirectory: string,
  named: Readonly<Record<string, string>>,
  tracesDirectory: string | null = null,
): Record<string, string> {
  const folder = packageFolder()
  const tracing = tracesDirectory === null ? {} : { SPEEDPROOF_PROFILE: tracesDirectory }
  // The recorder traces, so it is on whatever the metrics are read from.
  const besides = tracesDirectory === null ? undefined : { SPEEDPROOF_RECORD: tracesDirectory }
  const recording = reader.environment?.(runDirectory) ?? besides
  const switched = recording === undefined ? [] : [join(folder, 'speedproof', 'site')]
  const own = named.PYTHONPATH === undefined || named.PYTHONPATH === '' ? [] : [named.PYTHONPATH]
  return { ...recording, ...tracing, PYTHONPATH: [...switched, ...own, folder].join(delimiter) }
}
