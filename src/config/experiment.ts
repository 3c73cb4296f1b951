// The experiment file: two variants, how they are launched, the design, the gates.
import { z } from 'zod'
import { ladderSection } from '../ladder/config.ts'
import { DEFAULT_GATES, type Gate, gatesFile } from './gates/gates.ts'
import { readGates } from './gates/read-gates.ts'
import { LOOK_KEYS, withLooks } from './looks.ts'
import { mapping, settings } from './parse/mapping.ts'
import { PRESET_NAMES } from './presets.ts'

export const VARIANTS = ['baseline', 'optimized'] as const
export type Variant = (typeof VARIANTS)[number]

export const MODES = ['compare', 'aa'] as const

const path = z.string().min(1)
const environment = z.record(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'a name of an environment variable'),
  z.string(),
)

const variant = mapping({
  config: path.describe('Trainer config, relative to the working directory.'),
  set: settings.default({}).describe('Overrides by dotted key, e.g. speed.compile: blocks.'),
  env: environment.default({}).describe('Environment variables of this variant alone.'),
  revision: z
    .string()
    .regex(/^[^-\s][^\s]*$/, 'a branch, tag or commit, or merge-base')
    .optional()
    .describe(
      'Code to run: a branch, tag or commit, or merge-base, where the checked-out branch parted from its base. Without it the working tree as it is.',
    ),
})

const trainer = mapping({
  module: z
    .string()
    .regex(/^[A-Za-z_][\w.]*$/, 'a Python module such as trainer')
    .optional(),
  script: path.optional().describe('A Python file, relative to the working directory.'),
  command: z.string().min(1).optional().describe('First argument of a run, e.g. train.'),
  validate_command: z
    .string()
    .min(1)
    .optional()
    .describe(
      'First argument that makes the trainer print the resolved config as JSON; without it Speedproof reads the YAML itself.',
    ),
  evaluate_command: z
    .string()
    .min(1)
    .optional()
    .describe(
      'First argument that makes the trainer evaluate the final checkpoints of several runs once more; without it the numbers that the trainings reported are taken as they are.',
    ),
})

const launch = mapping({
  python: path.default('python3').describe('Interpreter with torch: a path, or a command on PATH.'),
  nproc_per_node: z.int().min(1).max(1024).default(1).describe('Processes, one per GPU.'),
  nnodes: z.int().min(1).max(1024).default(1),
  rdzv_endpoint: z
    .string()
    .min(1)
    .optional()
    .describe(
      'host:port of this node, for more than one. The other nodes join with the commands that `plan` prints.',
    ),
  timeout_minutes: z.number().positive().max(10_080).default(60).describe('For one run.'),
  price_per_gpu_hour: z
    .number()
    .positive()
    .optional()
    .describe(
      'Makes costs of GPU hours, in the currency of your choice: a row of the report, and cost_per_run.',
    ),
  lock_minutes: z
    .number()
    .nonnegative()
    .max(10_080)
    .default(120)
    .describe('How long to wait for another experiment on the same GPUs, or on the CPU.'),
  requirements: path
    .optional()
    .describe(
      'Lock that `python` was made from (a pip requirements file). A revision with another lock gets a virtual environment of its own, made from that.',
    ),
  shared_paths: z
    .array(path)
    .default([])
    .describe(
      'Folders of the working directory that every revision uses, such as data; without it each has its own.',
    ),
  env: environment.default({}).describe('Environment variables of every run.'),
})

export const designSection = mapping({
  ...LOOK_KEYS,
  gpu_minutes: z
    .number()
    .positive()
    .optional()
    .describe('Budget: no further look is started that would take more, counting every process as a GPU.'),
  warm_up_launches: z
    .int()
    .min(0)
    .max(8)
    .default(1)
    .describe('Runs of each variant that fill caches and count for nothing.'),
  warm_up_set: settings
    .optional()
    .describe(
      'Set in those runs alone, e.g. train.updates: 20: they need no whole training to compile what it compiles.',
    ),
  seed: z
    .int()
    .min(0)
    .max(2 ** 31)
    .default(0)
    .describe('Both runs of block k use seed + k.'),
}).transform(withLooks)

export const experimentFile = mapping({
  $schema: z.string().optional(),
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,59}$/, 'small letters, digits and -, such as two-task-4gpu'),
  description: z.string().optional(),
  kind: z
    .enum(['same-work', 'recipe', 'regression'])
    .describe(
      'What may differ: same-work only under speed:, recipe also under recipe:, regression only the revision.',
    ),
  mode: z
    .enum(MODES)
    .default('compare')
    .describe('aa runs the baseline against itself and stores how its runs scatter: the noise floor.'),
  preset: z
    .enum(PRESET_NAMES)
    .optional()
    .describe('Fills in design and gates; what the file names itself wins.'),
  inconclusive: z
    .enum(['red', 'neutral'])
    .default('red')
    .describe('neutral lets the workflow step go green when required gates stay open for want of evidence.'),
  trainer,
  launch: launch.prefault({}),
  variants: mapping({ baseline: variant, optimized: variant }),
  design: designSection.prefault({}),
  ladder: ladderSection
    .optional()
    .describe('For `speedproof ladder`: switches, each measured alone and on top of those before it.'),
  gates: gatesFile
    .default(DEFAULT_GATES)
    .describe('Without it these, of which kind: regression has speedup at_least 0.98 (at most 2% slower).'),
})

/** Keys keep the spelling of the file that they come from; `design.blocks` has become looks. */
export type Experiment = z.infer<typeof experimentFile>

export function gatesOf(experiment: Experiment, file = experiment.name): Gate[] {
  return readGates(experiment.gates, experiment.launch.price_per_gpu_hour ?? null, file)
}
