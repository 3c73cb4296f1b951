// On which facts a gate rests, and where one of them comes from a source that cannot carry it.
import type { Gate } from '../../config/gates/gates.ts'
import { TIME_TO_EACH_QUALITY, TIME_TO_QUALITY } from '../../metrics/catalogue.ts'
import { metricNamed } from '../../metrics/families.ts'
import type { Fact, Facts, Provenance } from '../../read/facts.ts'
import { isHeldOutQuality } from './gate-kind.ts'

const SPEED: readonly Fact[] = ['step_seconds', 'samples']
const QUALITY: readonly Fact[] = ['held_out_loss', 'held_out_set']

export function factsOf(gate: Gate): readonly Fact[] {
  if (gate.metric === TIME_TO_QUALITY || gate.metric === TIME_TO_EACH_QUALITY) return [...SPEED, ...QUALITY]
  if (isHeldOutQuality(gate)) return QUALITY
  return isOfWork(gate) ? SPEED : []
}

/** Seconds, joules and costs are compared after equal samples. */
function isOfWork({ metric }: Gate): boolean {
  const { kind, from, unit } = metricNamed(metric)
  if (from === 'evaluation') return false
  return kind === 'time' || unit === 'GPU hours' || unit === 'J/sample'
}

/** Null where its facts can carry a verdict. */
export function whyOpenByFacts(gate: Gate, facts: Facts): string | null {
  for (const fact of factsOf(gate)) {
    const why = cannotCarry(fact, facts[fact])
    if (why !== null) return why
  }
  return null
}

function cannotCarry(fact: Fact, provenance: Provenance): string | null {
  if (fact === 'held_out_set') return SETS[provenance] ?? null
  if (provenance !== 'unknown') return null
  return fact === 'samples'
    ? 'the samples of the steps are unknown, so both variants may have done other work. Report them, or declare samples_per_step in the experiment'
    : `where ${fact} come from is unknown`
}

const REMEDY =
  'Report data_hash and evaluation_samples, as speedproof.Recorder does, or give the gate severity: info'

/** Samples of a file can be chosen: a set that changed with the batch size once looked like a model better by 2.4%. */
const SETS: Readonly<Partial<Record<Provenance, string>>> = {
  hashed: `of the held-out set only the files under data: are known, and other samples of them may have been chosen. ${REMEDY}`,
  declared: `the held-out set is declared, not read back. ${REMEDY}`,
  unknown: `the held-out set is unknown, so the two losses may be of other samples. ${REMEDY}`,
}
