// YAML configs; what is not changed keeps its text: 1.0e-3, which YAML 1.1 reads as a number, does not become 1e-3.
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  parseDocument,
  Scalar,
  type ScalarTag,
  type Tags,
  YAMLMap,
  YAMLSeq,
} from 'yaml'
import type { SettingValue } from '../parse/mapping.ts'
import { parseYaml, YAML_OPTIONS } from '../parse/yaml.ts'
import { isMapping } from '../same-work/differences.ts'
import { type ConfigFormat, isFloatText, numberText } from './format.ts'

export const yamlFormat: ConfigFormat = {
  parse: (text, file) => parseYaml(text, file, 'copied'),

  change(text, changes) {
    const document = parseDocument(text, { ...YAML_OPTIONS, customTags: withSources })
    for (const { path, value } of changes) {
      const { map, key } = placeOf(document, path)
      const pair = pairOf(map, key)
      if (pair === undefined) map.items.push(newPair(document, map, key, nodeOf(value, undefined)))
      else pair.value = replacing(pair.value, value)
    }
    return document.toString({ lineWidth: 0 })
  },
}

/** Numbers are written as they stand in the file. */
function withSources(tags: Tags): Tags {
  return tags.map((tag) =>
    typeof tag === 'string' || !isNumeric(tag) ? tag : { ...tag, stringify: sourceOf },
  )
}

function isNumeric(tag: { tag: string }): tag is ScalarTag {
  return tag.tag.endsWith(':int') || tag.tag.endsWith(':float')
}

function sourceOf({ source, value }: Scalar): string {
  return source ?? String(value)
}

function placeOf(document: Document, path: readonly string[]): { map: YAMLMap; key: string } {
  let map = asMap(document.contents)
  for (const key of path.slice(0, -1)) {
    const pair = pairOf(map, key)
    const inner = isAlias(pair?.value) ? unaliased(pair.value.resolve(document)) : pair?.value
    if (isMap(inner)) {
      if (pair !== undefined) pair.value = inner
      map = inner
      continue
    }
    // Absent, or null.
    const made = new YAMLMap(document.schema)
    made.flow = map.flow ?? false
    if (pair === undefined) map.items.push(newPair(document, map, key, made))
    else pair.value = made
    map = made
  }
  return { map, key: path.at(-1) ?? '' }
}

/** A copy, so that the change stays where it is made. */
function unaliased(node: unknown): unknown {
  if (!isMap(node)) return node
  const copy = node.clone()
  if (isMap(copy)) delete copy.anchor
  return copy
}

function pairOf(map: YAMLMap, key: string): Pair | undefined {
  return map.items.find((pair) => isScalar(pair.key) && String(pair.key.value ?? '') === key)
}

function newPair(document: Document, map: YAMLMap, key: string, value: unknown): Pair {
  const name = new Scalar(key)
  // In brackets the file may be JSON; yes, 1 and null are no strings without quotes.
  if (map.flow || !/^[A-Za-z_][\w-]*$/.test(key) || /^(y|n|yes|no|on|off|true|false|null)$/i.test(key))
    name.type = 'QUOTE_DOUBLE'
  return document.createPair(name, value)
}

/** With the comments of what was there. */
function replacing(before: unknown, value: SettingValue): unknown {
  const node = nodeOf(value, before)
  if (isScalar(before)) {
    node.comment = before.comment ?? null
    node.commentBefore = before.commentBefore ?? null
    if (before.anchor !== undefined) node.anchor = before.anchor
  }
  return node
}

function nodeOf(value: SettingValue, before: unknown): Scalar | YAMLMap | YAMLSeq {
  if (Array.isArray(value)) {
    const sequence = new YAMLSeq()
    sequence.flow = true
    const first = isSeq(before) ? before.items[0] : undefined
    sequence.items = value.map((item) => nodeOf(item, first))
    return sequence
  }
  if (isMapping(value)) {
    const map = new YAMLMap()
    map.flow = true
    for (const [key, item] of Object.entries(value) as [string, SettingValue][]) {
      const name = new Scalar(key)
      name.type = 'QUOTE_DOUBLE'
      map.add({ key: name, value: nodeOf(item, isMap(before) ? before.get(key, true) : undefined) })
    }
    return map
  }
  const scalar = new Scalar(value)
  // Without quotes, YAML 1.1 would take yes and 1:30 for something else.
  if (typeof value === 'string') scalar.type = 'QUOTE_DOUBLE'
  if (typeof value === 'number')
    scalar.source = numberText(value, isScalar(before) && isFloatText(before.source ?? ''))
  return scalar
}

function asMap(contents: unknown): YAMLMap {
  if (isMap(contents)) return contents
  throw new Error('a config is a mapping')
}
