// What Speedproof reads of a dstack server's answers; the rest of them is left alone.
import { z } from 'zod'

const time = z.coerce.date()

export const projectAnswer = z.object({
  backends: z.array(
    z.object({
      name: z.string(),
      config: z.looseObject({ community_cloud: z.boolean().nullable().optional() }),
    }),
  ),
})

export const fleetsAnswer = z.array(z.object({ name: z.string(), status: z.string() }))

const offer = z.object({
  backend: z.string(),
  region: z.string(),
  price: z.number().nonnegative(),
  instance: z.object({
    resources: z.object({
      gpus: z.array(z.object({ name: z.string(), memory_mib: z.number() })),
    }),
  }),
})

export const planAnswer = z.object({
  job_plans: z.array(z.object({ offers: z.array(offer), total_offers: z.number() })).min(1),
})

const provisioned = z.object({
  backend: z.string(),
  region: z.string(),
  instance_id: z.string(),
  price: z.number(),
})

const submission = z.object({
  status: z.string(),
  status_message: z.string().default(''),
  termination_reason: z.string().nullable().default(null),
  termination_reason_message: z.string().nullable().default(null),
  job_provisioning_data: provisioned.nullable().default(null),
})

export const runAnswer = z.object({
  id: z.string(),
  submitted_at: time,
  status: z.string(),
  run_spec: z.object({
    run_name: z.string().nullable(),
    configuration: z.looseObject({ max_duration: z.union([z.number(), z.string(), z.null()]).optional() }),
  }),
  jobs: z.array(z.object({ job_submissions: z.array(submission) })).default([]),
})

export const eventsAnswer = z.array(
  z.object({
    id: z.string(),
    message: z.string(),
    recorded_at: z.string(),
    targets: z.array(z.object({ type: z.string(), id: z.string(), name: z.string() })),
  }),
)

export const instanceAnswer = z.object({ id: z.string(), name: z.string(), status: z.string() })

export const errorAnswer = z.object({
  detail: z.union([
    z.string(),
    z.array(z.looseObject({ msg: z.string().optional(), code: z.string().optional() })),
  ]),
})
