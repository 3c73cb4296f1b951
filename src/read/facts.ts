// What a verdict rests on, and where a reader has each of it from.

export const FACTS = [
  'step_seconds',
  'samples',
  'held_out_loss',
  'held_out_set',
  'training_data',
  'config',
  'seed',
  'world_size',
  'parameters',
  'memory',
  'effective_settings',
] as const
export type Fact = (typeof FACTS)[number]

/** Most trustworthy first. */
export const PROVENANCES = [
  'reported', // by the trainer, in the contract's own events
  'read', // from files or a log that the training leaves for other purposes
  'derived', // computed from what was read, such as step seconds from wall times
  'hashed', // by Speedproof, from the files under `data:`
  'declared', // in the experiment
  'unknown',
] as const

/** As people read them. */
export const FACT_NAMES: Readonly<Record<Fact, string>> = {
  step_seconds: 'step seconds',
  samples: 'samples',
  held_out_loss: 'held-out loss',
  held_out_set: 'held-out set',
  training_data: 'training data',
  config: 'config',
  seed: 'seed',
  world_size: 'number of processes',
  parameters: 'parameters',
  memory: 'peak memory',
  effective_settings: 'effective settings',
}

export type Provenance = (typeof PROVENANCES)[number]

export type Facts = Readonly<Record<Fact, Provenance>>

/** Of a trainer that writes the contract's events, where they have it. */
export const ALL_REPORTED: Facts = {
  step_seconds: 'reported',
  samples: 'reported',
  held_out_loss: 'reported',
  held_out_set: 'reported',
  training_data: 'reported',
  config: 'reported',
  seed: 'reported',
  world_size: 'reported',
  parameters: 'reported',
  memory: 'reported',
  effective_settings: 'reported',
}

export function provenanceText(fact: Fact, provenance: Provenance): string {
  return fact === 'effective_settings' && provenance === 'unknown' ? 'not read back' : provenance
}

/** Of several runs: each fact as the worst of them has it. */
export function worstFacts([first, ...others]: readonly Facts[]): Facts | null {
  if (first === undefined) return null
  return others.reduce<Facts>(
    (worst, facts) => factsOf((fact) => (rank(facts[fact]) > rank(worst[fact]) ? facts[fact] : worst[fact])),
    first,
  )
}

/** With what the events themselves say, which never makes a fact better than its reader has it, and without what they lack. */
export function factsOfEvents(
  reader: Facts,
  claimed: Readonly<Partial<Record<Fact, Provenance>>>,
  isAbsent: Readonly<Partial<Record<Fact, boolean>>>,
): Facts {
  return factsOf((fact) => {
    const claim = claimed[fact] ?? reader[fact]
    if (isAbsent[fact]) return 'unknown'
    return rank(claim) > rank(reader[fact]) ? claim : reader[fact]
  })
}

function factsOf(provenanceOf: (fact: Fact) => Provenance): Facts {
  return Object.fromEntries(FACTS.map((fact) => [fact, provenanceOf(fact)])) as Record<Fact, Provenance>
}

function rank(provenance: Provenance): number {
  return PROVENANCES.indexOf(provenance)
}
