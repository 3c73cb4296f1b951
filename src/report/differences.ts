// One difference between the variants as it is shown.
import type { Difference } from '../config/differences.ts'
import { settingText } from './setting.ts'

export function differenceText({ key, baseline, optimized }: Difference): string {
  return `${key}: ${settingText(baseline)} -> ${settingText(optimized)}`
}
