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

export type Provenance =
  | 'reported' // by the trainer, in the contract's own events
  | 'read' // from files or a log that the training leaves for other purposes
  | 'derived' // computed from what was read, such as step seconds from wall times
  | 'hashed' // by Speedproof, from the files under `data:`
  | 'declared' // in the experiment
  | 'unknown'

export type Facts = Readonly<Record<Fact, Provenance>>

/** Of a trainer that writes the contract's events. */
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
