// Does a run report the config that was handed over to it?
import { isMapping } from './differences.ts'
import { OPAQUE_FILE } from './opaque-file.ts'

export interface OtherValue {
  readonly key: string
  readonly given: unknown
  /** Undefined where the run does not report the key. */
  readonly reported: unknown
}

/**
 * The first value that is another, or null. A run may report more: defaults of its own, also where null was given. A
 * number may be a text in one of them, as some readers of YAML take 1e-8 for one.
 */
export function otherValue(
  given: unknown,
  reported: unknown,
  path: readonly string[] = [],
): OtherValue | null {
  if (given === null) return null
  const within = partsOf(given)
  if (within === null) return isSame(given, reported) ? null : { key: path.join('.'), given, reported }
  if (Array.isArray(given) && !(Array.isArray(reported) && reported.length === given.length))
    return { key: path.join('.'), given, reported }
  const parts = partsOf(reported) ?? new Map()
  for (const [key, value] of within) {
    // Of a config file that is not read, only its hash is known.
    if (path.length === 0 && key === OPAQUE_FILE) continue
    const other = otherValue(value, parts.get(key), [...path, key])
    if (other !== null) return other
  }
  return null
}

function partsOf(value: unknown): ReadonlyMap<string, unknown> | null {
  return isMapping(value) || Array.isArray(value) ? new Map(Object.entries(value)) : null
}

function isSame(given: unknown, reported: unknown): boolean {
  if (typeof given === typeof reported) return given === reported
  if (typeof given === 'string' && oldReadings(given).includes(reported)) return true
  const texts = [given, reported].filter((value) => typeof value === 'string')
  const numbers = [given, reported].filter((value) => typeof value === 'number')
  const [text = ''] = texts
  return text.trim() !== '' && numbers[0] === Number(text)
}

/** Of a YAML file that the trainer read itself: to YAML 1.1, `yes`, 010 and 1:30 are no texts. Flags may say True. */
function oldReadings(text: string): unknown[] {
  const word = text.toLowerCase()
  if (/^(yes|on|true)$/.test(word)) return [true]
  if (/^(no|off|false)$/.test(word)) return [false]
  const digits = text.replaceAll('_', '')
  const sign = digits.startsWith('-') ? -1 : 1
  const size = digits.replace(/^[-+]/, '')
  if (/^0[0-7]+$/.test(size)) return [sign * Number.parseInt(size, 8), sign * Number(size)]
  if (/^0b[01]+$/.test(size)) return [sign * Number.parseInt(size.slice(2), 2)]
  if (/^\d+(:[0-5]?\d)+(\.\d*)?$/.test(size))
    return [sign * size.split(':').reduce((sum, part) => 60 * sum + Number(part), 0)]
  return /\d_/.test(text) ? [Number(digits)] : []
}
