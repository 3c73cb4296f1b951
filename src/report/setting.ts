// A setting of a variant as it is shown: JSON, with plain texts as they are.

export function settingText(setting: unknown): string {
  if (setting === undefined || setting === null) return 'absent'
  return typeof setting === 'string' ? setting : JSON.stringify(setting)
}
