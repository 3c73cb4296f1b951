// Which files of a run a verdict and its report are made from: all of them are uploaded, and no others are unpacked.
import { PROFILE_FILE } from '../../measure/profile/profile.ts'
import { SOURCE_FILES } from '../../read/readers.ts'

const EVIDENCE: readonly string[] = [
  'machine.jsonl',
  'steps.jsonl',
  `profile/${PROFILE_FILE}`,
  ...SOURCE_FILES,
]

/** What the watcher of another node of a cluster has seen. */
export const OF_ANOTHER_NODE = /^machine-[A-Za-z0-9][\w.-]{0,250}\.jsonl$/

/** `path`: within the folder of the run. */
export function isEvidence(path: string): boolean {
  return EVIDENCE.includes(path) || OF_ANOTHER_NODE.test(path)
}
