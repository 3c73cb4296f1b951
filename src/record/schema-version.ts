// Refuses a record whose format is of another release, before its keys are looked at.
import { isMapping } from '../config/same-work/differences.ts'
import { ConfigError } from '../errors.ts'

/** Of result.json and ladder.json. 2: the trainer has a folder of its own, and looks carry their levels. */
export const RECORD_SCHEMA_VERSION = 2

/** Throws a ConfigError for a version that this release does not read. What has none is left to the parser. */
export function refuseOtherVersion(json: unknown, file: string): void {
  const version = isMapping(json) ? json.schemaVersion : undefined
  if (version === undefined || version === RECORD_SCHEMA_VERSION) return
  const isOlder = typeof version === 'number' && version < RECORD_SCHEMA_VERSION
  const remedy = isOlder
    ? 'an older release wrote it. Read it with that release, or measure again'
    : 'this release did not write it. Read it with a newer release'
  throw new ConfigError(
    `${file}: schemaVersion: got ${JSON.stringify(version)}, expected ${RECORD_SCHEMA_VERSION}; ${remedy}`,
  )
}
