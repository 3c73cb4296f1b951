// Reads a mapping whose keys somebody else has chosen: what every object inherits, such as `constructor`, does not count.

export function ownValue<Value>(
  mapping: Readonly<Record<string, Value>> | undefined,
  key: string,
): Value | undefined {
  return mapping !== undefined && Object.hasOwn(mapping, key) ? mapping[key] : undefined
}
