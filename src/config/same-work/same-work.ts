// Whether what two resolved trainer configs differ in is allowed by the experiment's kind.
import { ConfigError } from '../../errors.ts'
import { ownValue } from '../../text/own-value.ts'
import type { Experiment, Variant } from '../experiment.ts'
import { keyPath } from '../parse/setting-key.ts'
import { comparesRevisions } from '../revisions/revision-rules.ts'
import { type Difference, differencesOf, isMapping } from './differences.ts'
import { OPAQUE_FILE } from './opaque-file.ts'

export type TrainerConfig = Readonly<Record<string, unknown>>
export type ResolvedConfigs = Readonly<Record<Variant, TrainerConfig>>

const ALLOWED_SECTIONS: Readonly<Record<Experiment['kind'], readonly string[]>> = {
  'same-work': ['speed'],
  recipe: ['speed', 'recipe'],
  regression: ['speed'],
}

const REMEDIES: Readonly<Record<Experiment['kind'], string>> = {
  'same-work': ', or move a deliberate change of the recipe under recipe: and set kind: recipe',
  recipe: '',
  regression: ' with set:, or use a config that both revisions resolve to the same values',
}

const SPEED_KEYS_REMEDY =
  '. If they change only speed and cannot stand under speed:, name them in trainer.speed_keys'

const OTHER_FILE =
  'variants: the config files differ, and only YAML, TOML and JSON are read, so it is unknown in which keys. Use one file for both variants, and set what differs with trainer.arguments'

/** Every key that differs; throws as the next. `speedKeys` may differ as what stands under speed: may. */
export function declaredDifferences(
  kind: Experiment['kind'],
  configs: ResolvedConfigs,
  speedKeys: readonly string[] = [],
): Difference[] {
  refuseForbiddenDifferences(kind, configs, speedKeys)
  return differencesOf(configs.baseline, configs.optimized, [])
}

/** Throws a ConfigError if one lies where this kind of experiment may not differ. */
export function refuseForbiddenDifferences(
  kind: Experiment['kind'],
  { baseline, optimized }: ResolvedConfigs,
  speedKeys: readonly string[] = [],
): void {
  const allowed = [...ALLOWED_SECTIONS[kind].map((section) => `${section}:`), ...speedKeys]
  const forbidden = differencesOutside(kind, baseline, optimized, speedKeys)
  if (forbidden.some(({ key }) => key === OPAQUE_FILE)) throw new ConfigError(OTHER_FILE)
  if (forbidden.length > 0) {
    const list = forbidden
      .map((d) => `${d.key} (baseline ${show(d.baseline)}, optimized ${show(d.optimized)})`)
      .join(', ')
    throw new ConfigError(
      `variants: a ${kind} experiment may differ only under ${allowed.join(' and ')}, but these differ: ${list}. ` +
        `Make them equal${REMEDIES[kind]}${kind === 'regression' ? '' : SPEED_KEYS_REMEDY}`,
    )
  }
}

/** Throws a ConfigError for two variants that are one training, unless that is what is asked for. */
export function refuseIdentical(experiment: Experiment, configs: ResolvedConfigs): void {
  if (experiment.mode === 'aa' || comparesRevisions(experiment)) return
  const { kind, trainer } = experiment
  const declared = declaredDifferences(kind, configs, trainer.speed_keys)
  if ([...declared, ...environmentDifferences(experiment)].length > 0) return
  throw new ConfigError(
    'variants: baseline and optimized are the same training. Change a setting of optimized, or use mode aa to measure the noise of the machine',
  )
}

/** Environment variables may differ in any experiment; they are listed like every other difference. */
export function environmentDifferences({ variants }: Experiment): Difference[] {
  return differencesOf(variants.baseline.env, variants.optimized.env, ['env'])
}

/** The differences that this kind of experiment does not allow. */
export function differencesOutside(
  kind: Experiment['kind'],
  whole: TrainerConfig,
  otherWhole: TrainerConfig,
  speedKeys: readonly string[] = [],
): Difference[] {
  // A file that is not read may hold anything.
  const paths = speedKeys.map(keyPath).filter(([section]) => section !== OPAQUE_FILE)
  const [one, other] = [paths.reduce(without, whole), paths.reduce(without, otherWhole)]
  const sections = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort()
  // By section, not by the text before the first dot: a section may itself be called "speed.model".
  const checked = sections.filter((section) => !ALLOWED_SECTIONS[kind].includes(section))
  // Two revisions of a trainer know different keys: one that only one of them has is listed, not refused.
  const keys = kind === 'regression' ? 'in both' : 'in either'
  return checked
    .filter(
      (section) => keys === 'in either' || (Object.hasOwn(one, section) && Object.hasOwn(other, section)),
    )
    .flatMap((section) => differencesOf(ownValue(one, section), ownValue(other, section), [section], keys))
}

function without(config: TrainerConfig, [key = '', ...rest]: readonly string[]): TrainerConfig {
  if (!Object.hasOwn(config, key)) return config
  const { [key]: inner, ...others } = config
  if (rest.length === 0) return others
  if (!isMapping(inner)) return config
  const left = without(inner, rest)
  // A section that holds nothing else differs in nothing else.
  return Object.keys(left).length === 0 ? others : { ...others, [key]: left }
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? 'absent'
}
