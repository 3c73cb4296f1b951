// The contract with every trainer: the events of a run, which each reader makes of its source.
import { z } from 'zod'
import { FACTS, PROVENANCES } from './facts.ts'

/** Raised when a reader of the old events could misread the new ones. */
const METRICS_SCHEMA_VERSION = 1

const count = z.number().int().nonnegative()
/** A sum or a square of larger ones would be no number. */
export const LARGEST_NUMBER = 1e100
export const finiteNumber = z.number().min(-LARGEST_NUMBER).max(LARGEST_NUMBER)
const LONGEST_SECONDS = 1e9 // 30 years
const seconds = z.number().nonnegative().max(LONGEST_SECONDS)
/** No clock tells less. */
const SHORTEST_STEP_SECONDS = 1e-9
const perStep = z.array(finiteNumber).optional()

/** What else may take time in a step of a loop that is timed from outside. */
const HELD = ['evaluation', 'checkpoint'] as const
export type Held = (typeof HELD)[number]

const runStart = z.object({
  event: z.literal('run_start'),
  schema_version: z.literal(METRICS_SCHEMA_VERSION),
  config: z.record(z.string(), z.unknown()).optional().describe('The resolved configuration of this run.'),
  config_hash: z.string().optional().describe('A hash of config; any stable text.'),
  seed: z.number().int().optional().describe('Absent where a source does not tell.'),
  world_size: count.min(1).optional().describe('Number of processes; may be absent only for one.'),
  device_names: z.array(z.string()).min(1).optional().describe('One name per rank, rank 0 first.'),
  versions: z.record(z.string(), z.string()).optional().describe('Python, torch, CUDA, NCCL, ... by name.'),
  parameter_count: count.min(1).optional(),
  data_hash: z
    .string()
    .optional()
    .describe('Equal in two runs exactly when they train and are evaluated on the same data.'),
  evaluation_samples: count
    .min(1)
    .optional()
    .describe('Number of held-out samples that val_loss is computed from.'),
  period_steps: count
    .min(1)
    .optional()
    .describe('The work of a step repeats with this period; timing uses whole periods. Default 1.'),
  planned_steps: count.optional().describe('Optimizer steps this run will take; used for progress only.'),
  resumed_at_steps: z
    .array(count)
    .optional()
    .describe('Of a resumed run: the last step of each earlier part. Such a run is not one process.'),
  effective: z
    .record(
      z.string(),
      z.union([z.string(), z.number(), z.boolean()], { error: 'a text, a finite number, true or false' }),
    )
    .optional()
    .describe('The settings in effect, read back from the objects and not from the config.'),
  work_keys: z
    .array(z.string())
    .optional()
    .describe('Keys of effective that say what a step computes, not how. Same work has the same values.'),
  steps_include: z
    .array(z.enum(HELD))
    .optional()
    .describe('What some of step_seconds contain in addition, where no column says in which steps.'),
  facts: z
    .partialRecord(z.enum(FACTS), z.enum(PROVENANCES))
    .optional()
    .describe(
      'Facts that come from elsewhere than the source usually has them from; none becomes more trustworthy.',
    ),
})

const steps = z.object({
  event: z.literal('steps'),
  first_step: count.min(1).describe('Number of the first optimizer step in this window; steps count from 1.'),
  step_seconds: z
    .array(z.number().min(SHORTEST_STEP_SECONDS).max(LONGEST_SECONDS))
    .min(1)
    .describe(
      'Duration of each step without evaluation and checkpoints, on the rank that took longest in total.',
    ),
  samples: z
    .array(count.min(1))
    .optional()
    .describe('Training samples of each step, all ranks together; absent in all windows if unknown.'),
  train_loss: perStep,
  learning_rate: perStep,
  gradient_norm: z
    .array(finiteNumber.nullable())
    .optional()
    .describe('Of each step; null where it is not finite, such as when a gradient scaler skips the update.'),
  data_wait_seconds: z.array(seconds).optional().describe('Time each step waited for its batch.'),
  holds: z
    .array(z.enum(HELD).nullable())
    .optional()
    .describe('Of each step: what its seconds contain in addition, or null. Timing leaves such steps out.'),
  skipped_updates: count.optional().describe('Updates in this window that a gradient scaler skipped.'),
})

const evaluation = z.object({
  event: z.literal('evaluation'),
  step: count.describe('Optimizer steps before it; may be 0.'),
  samples_seen: count
    .optional()
    .describe('The samples of these steps, all ranks together. Default: those of the steps.'),
  val_loss: finiteNumber.describe('The held-out loss that the loss gate judges.'),
  metrics: z
    .record(z.string(), finiteNumber)
    .optional()
    .describe('Anything else measured on the held-out split: nrmse, nrmse/advection1d, ...'),
  not_finite: z
    .array(z.string())
    .optional()
    .describe('Names that are missing in metrics because their numbers came out as NaN or infinite.'),
  evaluation_samples: count
    .min(1)
    .optional()
    .describe('Of this evaluation, where run_start does not say it.'),
  data_hash: z
    .string()
    .optional()
    .describe('Equal in two evaluations exactly when they are of the same held-out samples.'),
  seconds: seconds.optional(),
})

const phase = z.object({
  event: z.literal('phase'),
  name: z.enum(['import', 'data', 'build', 'compile', 'capture', 'checkpoint']),
  seconds,
  step: count.optional().describe('The step it ended in; a compile or capture extends the warm-up to it.'),
})

const epoch = z.object({ event: z.literal('epoch'), epoch: count, step: count })

const runEnd = z.object({
  event: z.literal('run_end'),
  status: z.literal('finished'),
  samples: count.optional().describe('Of the whole run. Default: those of its steps.'),
  attempted_updates: count,
  skipped_updates: count,
  total_seconds: seconds.optional().describe('From process start to here, rank 0.'),
  peak_memory_allocated_bytes: z
    .array(count)
    .optional()
    .describe('One number per rank; absent without a GPU.'),
  peak_memory_reserved_bytes: z.array(count).optional(),
  allocation_retries: z
    .array(count)
    .optional()
    .describe('One number per rank: how often the allocator had to free its cache and try again.'),
})

export const metricsEvent = z.discriminatedUnion('event', [runStart, steps, evaluation, phase, epoch, runEnd])

export type MetricsEvent = z.infer<typeof metricsEvent>
export type RunStart = z.infer<typeof runStart>
export type StepsWindow = z.infer<typeof steps>
export type EvaluationEvent = z.infer<typeof evaluation>
export type RunEndEvent = z.infer<typeof runEnd>

/** Where samples are unknown, every step counts as one. */
export type Evaluation = EvaluationEvent & { readonly samples_seen: number }
export type RunEnd = RunEndEvent & { readonly samples: number }
