// The experiment file: two variants, how they are launched, the design, the gates.
import { z } from 'zod'
import { ladderSection } from '../ladder/config.ts'
import { dataSection } from './data.ts'
import { DEFAULT_GATES, type Gate, gatesFile } from './gates/gates.ts'
import { readGates } from './gates/read-gates.ts'
import { ENGINE_KEYS } from './launch/engine.ts'
import { LOOK_KEYS, withLooks } from './looks.ts'
import { metricsSection } from './metrics.ts'
import { mapping, settings } from './parse/mapping.ts'
import { PRESET_NAMES } from './presets.ts'
import { TRANSPORTS } from './transports.ts'

export const VARIANTS = ['baseline', 'optimized'] as const
export type Variant = (typeof VARIANTS)[number]

export const MODES = ['compare', 'aa'] as const

const path = z.string().min(1)
const environment = z.record(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'a name of an environment variable'),
  z.string(),
)

const variant = mapping({
  config: path
    .optional()
    .describe('Trainer config, relative to the working directory. Leave it out for a trainer without one.'),
  set: settings
    .default({})
    .describe(
      'Overrides by dotted key, e.g. speed.compile: blocks. A key with a dot in it is put in double quotes: \'"a.b".c\'. They change the config file (YAML, TOML or JSON), or become flags by trainer.arguments.',
    ),
  env: environment.default({}).describe('Environment variables of this variant alone.'),
  revision: z
    .string()
    .regex(/^[^-\s][^\s]*$/, 'a branch, tag or commit, or merge-base')
    .optional()
    .describe(
      'Code to run: a branch, tag or commit, or merge-base, the commit where the checked-out branch left its base. Without it, the working tree as it is.',
    ),
})

const trainer = mapping({
  module: z
    .string()
    .regex(/^[A-Za-z_][\w.]*$/, 'a Python module such as trainer')
    .optional(),
  script: path.optional().describe('A Python file, relative to the working directory.'),
  command: z.string().min(1).optional().describe('First argument of a run, e.g. train.'),
  arguments: z
    .string()
    .min(1)
    .optional()
    .describe(
      'How each setting of `set:` becomes a flag, for a trainer without a config file: --{key}={value}, --{key} {value} or {key}={value}.',
    ),
  speed_keys: z
    .array(z.string().min(1))
    .optional()
    .describe(
      'Settings that change only speed, e.g. [bf16, torch_compile]. They may differ in every kind of experiment, as if they stood under speed:.',
    ),
  validate_command: z
    .string()
    .min(1)
    .optional()
    .describe(
      'First argument that makes the trainer print the resolved config as JSON. Without it, Speedproof reads the YAML itself.',
    ),
  evaluate_command: z
    .string()
    .min(1)
    .optional()
    .describe(
      'First argument that makes the trainer evaluate the final checkpoints of several runs again. Without it, the numbers that the trainings report are used.',
    ),
})

const launch = mapping({
  python: path.default('python3').describe('Interpreter with torch: a path, or a command on PATH.'),
  command: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe(
      'Program and arguments of a run, for another launcher than torchrun; no shell reads them. {config} {out} {seed} {nproc} {python} are replaced, also within a word, and {arguments} by the flags of trainer.arguments (at the end if it is left out). {{ and }} are braces.',
    ),
  nproc_per_node: z.int().min(1).max(1024).default(1).describe('Processes on each node, one per GPU.'),
  ...ENGINE_KEYS,
  timeout_minutes: z.number().positive().max(10_080).default(60).describe('Time limit for one run.'),
  price_per_gpu_hour: z
    .number()
    .positive()
    .optional()
    .describe(
      'Price of one GPU for an hour, in any currency. The report then shows costs, and the gate cost_per_run can be used.',
    ),
  interconnect: z
    .enum(TRANSPORTS)
    .optional()
    .describe(
      'How NCCL has to move data between nodes, or between the GPUs of one host. Another transport makes the experiment invalid. Without it, sockets are a warning.',
    ),
  lock_minutes: z
    .number()
    .nonnegative()
    .max(10_080)
    .default(120)
    .describe(
      'How long to wait for another experiment on the same GPUs or on the CPU, or in the queue of Slurm.',
    ),
  requirements: path
    .optional()
    .describe(
      'pip requirements file from which the environment of `python` was installed. A revision with a different file gets its own virtual environment.',
    ),
  shared_paths: z
    .array(path)
    .default([])
    .describe(
      'Folders of the working directory that all revisions share, such as data. Without it, each revision has its own.',
    ),
  env: environment.default({}).describe('Environment variables of every run.'),
})

export const designSection = mapping({
  ...LOOK_KEYS,
  gpu_minutes: z
    .number()
    .positive()
    .optional()
    .describe(
      'Budget: blocks up to the next look start only if they fit into it. Every process counts as one GPU.',
    ),
  warm_up_launches: z
    .int()
    .min(0)
    .max(8)
    .default(1)
    .describe('Runs of each variant that fill caches and are not measured.'),
  warm_up_set: settings
    .optional()
    .describe(
      'Settings of the warm-up runs alone, e.g. train.updates: 20: they only need to fill the caches.',
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
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,59}$/, 'lowercase letters, digits and -, such as two-task-4gpu'),
  description: z.string().optional(),
  kind: z
    .enum(['same-work', 'recipe', 'regression'])
    .describe(
      'Where the variants may differ: same-work only under speed:, recipe also under recipe:, regression only in the revision.',
    ),
  mode: z
    .enum(MODES)
    .default('compare')
    .describe('aa compares the baseline with itself and stores the scatter of its runs, the noise floor.'),
  preset: z.enum(PRESET_NAMES).optional().describe('Fills in the blocks and gates that the file leaves out.'),
  inconclusive: z
    .enum(['red', 'neutral'])
    .default('red')
    .describe(
      'With neutral, the workflow step passes when required gates are undecided for lack of evidence.',
    ),
  trainer: trainer.prefault({}),
  launch: launch.prefault({}),
  metrics: metricsSection,
  data: dataSection.optional(),
  variants: mapping({ baseline: variant, optimized: variant }),
  design: designSection.prefault({}),
  profile: z
    .boolean()
    .default(false)
    .describe(
      'One more launch of each variant at the end, traced for a few steps: the report then says what changed inside the step. It decides nothing.',
    ),
  ladder: ladderSection
    .optional()
    .describe('For `speedproof ladder`: switches, each measured alone and on top of those before it.'),
  gates: gatesFile
    .default(DEFAULT_GATES)
    .describe(
      'Without it, these gates apply; kind: regression has speedup at_least 0.98 (at most 2% slower) instead.',
    ),
})

/** Keys keep the spelling of the file that they come from; `design.blocks` has become looks. */
export type Experiment = z.infer<typeof experimentFile>

export function gatesOf(experiment: Experiment, file = experiment.name): Gate[] {
  return readGates(experiment.gates, experiment.launch.price_per_gpu_hour ?? null, file)
}
