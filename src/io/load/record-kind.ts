// Which of its two records Speedproof was given: the other one is answered with the command that reads it.
import { isMapping } from '../../config/same-work/differences.ts'
import { ConfigError } from '../../errors.ts'
import { shellQuote } from '../../text/shell-quote.ts'

/** Throws a ConfigError for a ladder.json, whatever its name. */
export function refuseLadder(json: unknown, file: string): void {
  if (!isMapping(json) || !Object.hasOwn(json, 'sittings')) return
  throw new ConfigError(
    `${file}: is the ladder.json of a ladder, not a result.json; show it with: speedproof ladder --show ${shellQuote(file)}`,
  )
}

/** Throws a ConfigError for a result.json, whatever its name. */
export function refuseResult(json: unknown, file: string): void {
  if (!isMapping(json) || !Object.hasOwn(json, 'configs')) return
  const name = shellQuote(file)
  throw new ConfigError(
    `${file}: is the result.json of an experiment, not a ladder.json; show it with: speedproof analyze ${name}, or as Markdown with: speedproof report ${name}`,
  )
}
