// Whether what two resolved trainer configs differ in is allowed by the experiment's kind.
import { ConfigError } from '../../errors.ts'
import type { Experiment, Variant } from '../experiment.ts'
import { comparesRevisions } from '../revisions/revision-rules.ts'
import { type Difference, differencesOf } from './differences.ts'

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

/** Every key that differs; throws as the next. */
export function declaredDifferences(kind: Experiment['kind'], configs: ResolvedConfigs): Difference[] {
  refuseForbiddenDifferences(kind, configs)
  return differencesOf(configs.baseline, configs.optimized, [])
}

/** Throws a ConfigError if one lies where this kind of experiment may not differ. */
export function refuseForbiddenDifferences(
  kind: Experiment['kind'],
  { baseline, optimized }: ResolvedConfigs,
): void {
  const allowed = ALLOWED_SECTIONS[kind]
  const forbidden = differencesOutside(kind, baseline, optimized)
  if (forbidden.length > 0) {
    const list = forbidden
      .map((d) => `${d.key} (baseline ${show(d.baseline)}, optimized ${show(d.optimized)})`)
      .join(', ')
    throw new ConfigError(
      `variants: a ${kind} experiment may differ only under ${allowed.map((s) => `${s}:`).join(' and ')}, but these differ: ${list}. ` +
        `Make them equal${REMEDIES[kind]}`,
    )
  }
}

/** Throws a ConfigError for two variants that are one training, unless that is what is asked for. */
export function refuseIdentical(experiment: Experiment, configs: ResolvedConfigs): void {
  if (experiment.mode === 'aa' || comparesRevisions(experiment)) return
  const { kind } = experiment
  if ([...declaredDifferences(kind, configs), ...environmentDifferences(experiment)].length > 0) return
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
  one: TrainerConfig,
  other: TrainerConfig,
): Difference[] {
  const sections = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort()
  // By section, not by the text before the first dot: a section may itself be called "speed.model".
  const checked = sections.filter((section) => !ALLOWED_SECTIONS[kind].includes(section))
  // Two revisions of a trainer know different keys: one that only one of them has is listed, not refused.
  const keys = kind === 'regression' ? 'in both' : 'in either'
  return checked
    .filter((section) => keys === 'in either' || (section in one && section in other))
    .flatMap((section) => differencesOf(one[section], other[section], [section], keys))
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? 'absent'
}
