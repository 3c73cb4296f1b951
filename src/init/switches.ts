// --switch KEY=BASELINE:OPTIMIZED: the setting that a change switches, as it is typed.
import { ConfigError } from '../errors.ts'

export interface Switch {
  readonly key: string
  readonly baseline: string
  readonly optimized: string
}

/** Throws a ConfigError for another form. */
export function parseSwitch(text: string): Switch {
  const [, key, baseline, optimized] = /^([^=\s]+)=([^:]+):([^:]+)$/.exec(text.trim()) ?? []
  if (key !== undefined && baseline !== undefined && optimized !== undefined)
    return { key, baseline, optimized }
  throw new ConfigError(
    `--switch: got "${text}", expected KEY=BASELINE:OPTIMIZED, such as torch_compile=false:true`,
  )
}
