// How settings, and differences between the variants, are shown.
import type { Difference } from '../config/same-work/differences.ts'

export function differenceText({ key, baseline, optimized }: Difference): string {
  return `${key}: ${settingText(baseline)} -> ${settingText(optimized)}`
}

export function settingText(setting: unknown): string {
  if (setting === undefined || setting === null) return 'absent'
  return typeof setting === 'string' ? setting : JSON.stringify(setting)
}
