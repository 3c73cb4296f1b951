// What a format of config files has to do: be read as plain data, and be changed in a few values.
import type { SettingValue } from '../parse/mapping.ts'

export interface Change {
  readonly path: readonly string[]
  readonly value: SettingValue
}

export interface ConfigFormat {
  /** Plain data, by which variants are compared. Throws a ConfigError that names `file`. */
  readonly parse: (text: string, file: string) => unknown
  /** Every other value keeps its form. Each path leads through mappings, or to keys that are not there yet. */
  readonly change: (text: string, changes: readonly Change[], file: string) => string
}

/** A number as JSON, YAML of either version and TOML read it; a float where the value before it was one. */
export function numberText(value: number, isFloat: boolean): string {
  const text = String(value)
  // To YAML 1.1, 1e-7 without a point is a string.
  if (/^-?\d+e/.test(text)) return text.replace('e', '.0e')
  return isFloat && Number.isInteger(value) ? `${text}.0` : text
}

/** Whether a number is written as a float. */
export function isFloatText(text: string): boolean {
  return /[.eE]/.test(text) && !/^0x/i.test(text)
}
