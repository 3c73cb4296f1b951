// What carries out the launches: this host, or Slurm with one or several nodes.
import { z } from 'zod'
import { ConfigError } from '../../errors.ts'
import { mapping } from '../parse/mapping.ts'
import { isMapping } from '../same-work/differences.ts'

export const slurmSection = mapping({
  partition: z.string().min(1).optional(),
  account: z.string().min(1).optional(),
  time_minutes: z
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe('Limit of the allocation; that of the partition by default.'),
  gpus_per_node: z
    .int()
    .min(0)
    .max(64)
    .optional()
    .describe('By default nproc_per_node where the partition has GPUs, and none elsewhere.'),
  options: z
    .array(z.string().regex(/^--[a-z][a-z-]*(=.*)?$/, 'an option of sbatch such as --constraint=h100'))
    .default([])
    .describe('Further options of sbatch.'),
})

export const ENGINE_KEYS = {
  engine: z
    .enum(['local', 'slurm'])
    .default('local')
    .describe('slurm: one allocation for the experiment, and each launch is one of its job steps.'),
  nodes: z.int().min(1).max(1024).default(1).describe('More than one needs engine: slurm.'),
  slurm: slurmSection.optional(),
}

interface LaunchKeys {
  readonly engine: 'local' | 'slurm'
  readonly nodes: number
  readonly slurm?: z.infer<typeof slurmSection> | undefined
  readonly command?: readonly string[] | undefined
  readonly env: Readonly<Record<string, string>>
}

/** What Speedproof itself sets: one allocation of whole nodes, and what it hands over. */
const OUR_OPTIONS =
  /^--(array|chdir|error|exclusive|export|export-file|gpus-per-node|input|job-name|mem|nodes|ntasks|ntasks-per-node|output|overcommit|oversubscribe|parsable|wait|wrap)(=|$)/
const SLURM_VARIABLE = /^(SLURM|SRUN|SBATCH|SALLOC)_/

/** What is wrong with these keys together; null where nothing is. */
export function engineProblem(
  { engine, nodes, slurm, command, env }: LaunchKeys,
  variantEnv: readonly Readonly<Record<string, string>>[],
): string | null {
  if (engine === 'local') {
    if (slurm !== undefined)
      return 'launch.slurm: is for engine: slurm, but launch.engine is local; set it, or remove this section'
    return nodes === 1
      ? null
      : `launch.nodes: got ${nodes}, but engine: local starts nothing on other nodes. Set launch.engine: slurm, or nodes: 1`
  }
  if (nodes > 1 && command !== undefined)
    return 'launch.nodes: more than one needs torchrun, which launch.command replaces; remove launch.command, or set nodes: 1'
  const ours = slurm?.options.find((option) => OUR_OPTIONS.test(option))
  if (ours !== undefined)
    return `launch.slurm.options: got ${ours}, which Speedproof sets itself; use the keys of launch, or remove it`
  const steering = [env, ...variantEnv].flatMap(Object.keys).find((name) => SLURM_VARIABLE.test(name))
  return steering === undefined
    ? null
    : `env.${steering}: steers Slurm's own commands; use launch.slurm.options, or remove it`
}

/** Throws a ConfigError for the keys of earlier releases, whose other nodes nobody started. */
export function refuseFormerKeys(raw: unknown, file: string): void {
  const launch = isMapping(raw) ? raw.launch : undefined
  if (!isMapping(launch)) return
  for (const key of ['nnodes', 'rdzv_endpoint']) {
    if (launch[key] === undefined) continue
    const remedy =
      launch.nnodes === undefined || launch.nnodes === 1
        ? 'remove it'
        : 'set launch.engine: slurm and launch.nodes'
    throw new ConfigError(
      `${file}: launch.${key}: is replaced by launch.nodes, with engine: slurm; ${remedy}`,
    )
  }
}

/** A record of an earlier release on one node says what `nodes: 1` says. */
export function withoutFormerKeys(recorded: unknown): unknown {
  if (!isMapping(recorded) || !isMapping(recorded.launch) || recorded.launch.nnodes !== 1) return recorded
  const { nnodes: _, ...launch } = recorded.launch
  return { ...recorded, launch }
}
