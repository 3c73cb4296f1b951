// The numbers under `set:` as they were written: 0.0 is 0 to JavaScript, which a trainer's flag takes for an integer.
import { parseDocument, visit } from 'yaml'
import { isMapping } from '../same-work/differences.ts'
import { YAML_OPTIONS } from './yaml.ts'

/** By the key of the setting and the number. */
export type NumberTexts = ReadonlyMap<string, string>

export function numberText(texts: NumberTexts, key: string, value: number): string {
  return texts.get(`${key} ${value}`) ?? String(value)
}

/** Of the text of an experiment, which has been read without an error. */
export function numberTextsOf(experiment: string): NumberTexts {
  const texts = new Map<string, string>()
  for (const settings of settingsIn(withTexts(experiment))) addTexts(texts, settings)
  return texts
}

/** Of the KEY=VALUE texts of --set. */
export function numberTextsOfFlags(flags: readonly string[]): NumberTexts {
  const settings = flags.map((text) => {
    const [key = '', ...value] = text.split('=')
    return [key, withTexts(value.join('='))] as const
  })
  const texts = new Map<string, string>()
  addTexts(texts, Object.fromEntries(settings))
  return texts
}

class WrittenNumber {
  readonly value: number
  readonly text: string

  constructor(value: number, text: string) {
    this.value = value
    this.text = text
  }
}

/** Anchors and merges are resolved, as in what a trainer gets. */
function withTexts(text: string): unknown {
  const document = parseDocument(text, YAML_OPTIONS)
  visit(document, {
    Scalar(place, node) {
      const { value, source = '' } = node
      // No trainer is asked to read the hexadecimal and octal numbers of YAML.
      if (place !== 'key' && typeof value === 'number' && !/^0[xo]/.test(source))
        node.value = new WrittenNumber(value, source)
    },
  })
  return document.toJS({ maxAliasCount: 100 })
}

function settingsIn(value: unknown): Readonly<Record<string, unknown>>[] {
  if (value instanceof WrittenNumber || typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    (key === 'set' || key === 'warm_up_set') && isMapping(inner) ? [inner] : settingsIn(inner),
  )
}

/** Of two texts of one number, both variants get the first: what differs is no more than its writing. */
function addTexts(texts: Map<string, string>, settings: Readonly<Record<string, unknown>>): void {
  const add = (name: string, value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) add(name, item)
    if (!(value instanceof WrittenNumber)) return
    const known = `${name} ${value.value}`
    if (!texts.has(known)) texts.set(known, value.text)
  }
  for (const [name, value] of Object.entries(settings)) add(name, value)
}
