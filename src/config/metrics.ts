// The metrics section of an experiment: what the training leaves as its metrics, and how to read it.
import { z } from 'zod'
import { mapping } from './parse/mapping.ts'
import { EVALUATION_GROUPS, pattern, STEP_GROUPS } from './patterns.ts'

const declared = {
  samples_per_step: z
    .int()
    .min(1)
    .max(2 ** 40)
    .optional()
    .describe('Training samples of every step, over all processes, where the source does not tell.'),
  evaluation_samples: z
    .int()
    .min(1)
    .max(2 ** 40)
    .optional()
    .describe('Held-out samples that the loss is computed from.'),
}

const numberOfFirst = z.union([z.literal(0), z.literal(1)], { error: '0 or 1' })
const numbering = {
  first_step: numberOfFirst.optional().describe('The number that the source gives to the first step.'),
  evaluation_first_step: numberOfFirst
    .optional()
    .describe(
      'The number that the source gives to an evaluation after exactly one step: 1 where it counts finished steps.',
    ),
}

const file = z
  .string()
  .regex(/^(?!.*(?:^|\/)\.\.?(?:\/|$))[^/\\\0][^\\\0]*$/, 'a path in the folder of the training, without ..')
  .describe(
    "In the training's own folder; `*` stands for a part of one name, `**/` for any folders. It has to name one file.",
  )

const unit = z.enum(['s', 'ms', 'us'])
const units = mapping({
  step_seconds: unit.default('s'),
  evaluation_seconds: unit.default('s'),
  time: unit.default('s'),
}).prefault({})

const key = z.string().min(1)
const moreOfEvaluations = z
  .record(z.string().min(1), key)
  .default({})
  .describe('More numbers of an evaluation: the name for gates, and the key in the source.')
const optionalKeys = {
  step_seconds: key.optional().describe('Seconds of one step. Every step has to be there.'),
  time: key.optional().describe('Clock time when the row was written, to derive step seconds from.'),
  samples: key.optional().describe('Training samples of this step, over all processes.'),
  train_loss: key.optional(),
  evaluation_seconds: key.optional(),
}

export const evaluationPattern = pattern(EVALUATION_GROUPS, ['step', 'val_loss'], 'any').describe(
  'Of a line for each evaluation. Named groups: step, val_loss, evaluation_seconds; others are further numbers.',
)

const formats = [
  mapping({ format: z.literal('speedproof') }),
  mapping({
    format: z.literal('recorder'),
    patterns: mapping({ evaluation: evaluationPattern })
      .optional()
      .describe('For a loop whose evaluations are known only by what it prints.'),
    units,
    evaluation_first_step: numbering.evaluation_first_step,
    ...declared,
  }),
  mapping({
    format: z.literal('jsonl'),
    file,
    keys: mapping({ step: key, val_loss: key, ...optionalKeys }),
    evaluation: moreOfEvaluations,
    units,
    ...numbering,
    ...declared,
  }),
  mapping({
    format: z.literal('hugging-face'),
    file: file.optional(),
    val_loss: key.default('eval_loss').describe('With several held-out sets: eval_NAME_loss.'),
    ...declared,
  }),
  mapping({
    format: z.literal('lightning-csv'),
    file: file.optional(),
    keys: mapping({
      step: key.default('step'),
      val_loss: key.default('val_loss'),
      ...optionalKeys,
    }).prefault({}),
    evaluation: moreOfEvaluations,
    units,
    ...numbering,
    ...declared,
  }),
  mapping({
    format: z.literal('log'),
    file: file.optional().describe('Without it, what the training prints.'),
    patterns: mapping({
      step: pattern(STEP_GROUPS, ['step']).describe(
        'Regular expression (RE2) of a line for each step. Named groups: step, and any of step_seconds, samples, train_loss.',
      ),
      evaluation: evaluationPattern,
      checkpoint: pattern([], [])
        .optional()
        .describe('Of a line for each checkpoint, if its time is part of the next step.'),
    }),
    units,
    ...numbering,
    ...declared,
  }),
  mapping({
    format: z.literal('tensorboard'),
    keys: mapping({
      val_loss: key.default('eval/loss'),
      train_loss: key
        .default('train/loss')
        .describe('Tag that is written every few steps. Its clock times give the step seconds.'),
      step_seconds: key.optional().describe('Tag with the seconds of each step, instead of clock times.'),
      samples: key.optional(),
      evaluation_seconds: key.default('eval/runtime'),
    }).prefault({}),
    evaluation: moreOfEvaluations,
    units,
    ...numbering,
    ...declared,
  }),
  mapping({
    format: z.literal('wandb-offline'),
    keys: mapping({ step: key, val_loss: key, ...optionalKeys }),
    evaluation: moreOfEvaluations,
    units,
    ...numbering,
    ...declared,
  }),
] as const

export const metricsSection = z
  .discriminatedUnion('format', formats)
  .prefault({ format: 'speedproof' })
  .describe('What the training leaves as its metrics. Without it, the file of the contract.')

export type MetricsSource = z.infer<typeof metricsSection>
export type MetricsFormat = MetricsSource['format']
export type SourceOf<Format extends MetricsFormat> = Extract<MetricsSource, { format: Format }>

export const METRICS_FORMATS: readonly MetricsFormat[] = formats.map(({ shape }) => shape.format.value)
