// What warm-up launches do that measured ones do not.
import type { Experiment } from '../../config/experiment.ts'
import { settingText } from '../setting.ts'

/** Empty where they are whole trainings, or where there are none. */
export function warmUpLines({ design }: Experiment): string[] {
  const set = Object.entries(design.warm_up_set ?? {})
  if (design.warm_up_launches === 0 || set.length === 0) return []
  return [
    `Warm-up launches alone have ${set.map(([key, value]) => `${key}: ${settingText(value)}`).join(', ')}.`,
  ]
}
