// A workflow file as GitHub's own parser takes it, with the conditions that it completes.
import { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } from '@actions/workflow-parser'
import { parse } from 'yaml'
import { z } from 'zod'
import { readOwnFile } from './files.ts'

const values = z.record(z.string(), z.unknown())
const permissions = z.record(z.string(), z.enum(['read', 'write', 'none']))
const concurrency = z.object({
  group: z.string(),
  queue: z.enum(['single', 'max']).default('single'),
  'cancel-in-progress': z.boolean().default(false),
})
const step = z.object({
  id: z.string().optional(),
  uses: z.string().optional(),
  run: z.string().optional(),
  with: values.default({}),
  env: values.default({}),
})
const job = z.object({
  needs: z.union([z.string().transform((one) => [one]), z.array(z.string())]).default([]),
  'runs-on': z.unknown().optional(),
  'timeout-minutes': z.unknown().optional(),
  uses: z.string().optional(),
  with: values.default({}),
  permissions: permissions.optional(),
  concurrency: concurrency.optional(),
  strategy: z
    .strictObject({ 'fail-fast': z.boolean().optional(), matrix: z.record(z.string(), z.array(z.unknown())) })
    .optional(),
  outputs: values.default({}),
  steps: z.array(step).default([]),
})
const inputs = z.record(z.string(), z.object({ default: z.unknown().optional() }))
const trigger = z.looseObject({
  types: z.array(z.string()).optional(),
  workflows: z.array(z.string()).optional(),
  inputs: inputs.default({}),
  outputs: z.record(z.string(), z.object({ value: z.string() })).default({}),
})
const workflow = z.object({
  name: z.string(),
  on: z.union([
    z.string().transform((name) => ({ [name]: trigger.parse({}) })),
    z.record(
      z.string(),
      z.preprocess((value) => (Array.isArray(value) ? {} : (value ?? {})), trigger),
    ),
  ]),
  permissions: permissions.optional(),
  concurrency: concurrency.optional(),
  jobs: z.record(z.string(), job),
})

export type Permissions = Readonly<z.infer<typeof permissions>>
export type Concurrency = Readonly<z.infer<typeof concurrency>>
export type Step = z.infer<typeof step> & { readonly condition: string }
export type Job = Omit<z.infer<typeof job>, 'steps'> & {
  readonly condition: string
  readonly steps: readonly Step[]
}
export type Workflow = Omit<z.infer<typeof workflow>, 'jobs'> & {
  readonly jobs: Readonly<Record<string, Job>>
}

/** Throws what GitHub would write on the run's page. */
export async function readWorkflow(path: string): Promise<Workflow> {
  const content = readOwnFile(path)
  const { context, value } = parseWorkflow({ name: path, content }, new NoOperationTraceWriter())
  if (value === undefined) throw new Error(`${path}: ${context.errors.getErrors().join('\n')}`)
  const template = await convertWorkflowTemplate(context, value)
  const errors = (template.errors ?? []).map(({ Message }) => Message)
  if (errors.length > 0) throw new Error(`${path}: ${errors.join('\n')}`)

  const { jobs, ...rest } = workflow.parse(parse(content))
  const completed = template.jobs.map((one) => {
    const plain = job.parse(jobs[one.id.value])
    const conditions = one.type === 'job' ? one.steps.map(conditionOf) : []
    const steps = plain.steps.map((each, index) => ({ ...each, condition: conditions[index] ?? '' }))
    return [one.id.value, { ...plain, condition: one.if.expression, steps }]
  })
  return { ...rest, jobs: Object.fromEntries(completed) }
}

function conditionOf({ id, if: condition }: { id: string; if?: { expression: string } }): string {
  if (condition === undefined) throw new Error(`step ${id} has no condition, not even success()`)
  return condition.expression
}
