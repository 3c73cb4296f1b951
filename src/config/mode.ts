// What `mode: aa` makes of an experiment: its baseline against itself, to measure the noise of the machine.
import { ConfigError } from '../errors.ts'
import type { Experiment } from './experiment.ts'
import type { GatesFile } from './gates/gates.ts'
import { readGates } from './gates/read-gates.ts'
import { looksAfter } from './looks.ts'

/** Fewer runs say too little about how they scatter. */
export const MIN_NOISE_RUNS = 10

/** The fewest that give 10 runs and whose number is even, so that a linear drift cancels. */
const NOISE_BLOCKS = 6

/**
 * One look, since scatter is not decided early; the gates are shown, and a speedup is held against 1.
 * Throws a ConfigError for a number of blocks that was asked for by name and is too small.
 */
export function inMode(
  experiment: Experiment,
  askedBlocks: number | readonly number[] | undefined,
  file: string,
): Experiment {
  if (experiment.mode === 'compare') return experiment
  const { design, variants } = experiment
  const most = Math.max(...design.looks.map(({ blocks }) => blocks))
  if (askedBlocks !== undefined && most * 2 < MIN_NOISE_RUNS) {
    throw new ConfigError(
      `blocks: got ${most}, expected at least ${MIN_NOISE_RUNS / 2}: mode aa needs ${MIN_NOISE_RUNS} runs to measure the noise`,
    )
  }
  return {
    ...experiment,
    variants: { ...variants, optimized: variants.baseline },
    design: { ...design, looks: looksAfter(most * 2 < MIN_NOISE_RUNS ? NOISE_BLOCKS : most) },
    gates: asInformation(experiment, file),
  }
}

function asInformation({ gates, launch }: Experiment, file: string): GatesFile {
  return Object.fromEntries(
    readGates(gates, launch.price_per_gpu_hour ?? null, file).map(({ name, statistic }) => [
      name,
      {
        evidence: 'interval',
        ...gates[name],
        severity: 'info',
        ...(statistic === 'speedup' ? { at_least: 1 } : {}),
      },
    ]),
  )
}
