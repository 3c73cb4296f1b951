// What the traced launches say of a step: the summaries that python/speedproof/profile makes on the measuring machine.
import { z } from 'zod'
import type { Variant } from '../../config/experiment.ts'
import { parseBounded, RECORD_LIMITS } from '../../text/bounded-json.ts'

export const PROFILE_FILE = 'profile.json'
/** 400 rows with names of 300 characters each, and as much again for what is escaped. */
export const MAX_PROFILE_BYTES = 1024 * 1024

const amount = z.number().nonnegative().max(1e12)
const text = z.string().max(2000)
const row = z.object({ name: text, ms: amount, launches: amount })
const rows = z.array(row).max(500)

/** Milliseconds of one step. */
const profileSchema = z.object({
  schema_version: z.literal(1),
  problems: z.array(text).max(100),
  traces: z
    .array(z.object({ file: text, bytes: amount, steps: z.int().min(1).max(100_000) }))
    .max(10)
    .default([]),
  step_ms: amount.optional(),
  kinds: z.record(text, amount).optional().describe('They add up to step_ms.'),
  hidden_communication_ms: amount.optional(),
  kernels: z
    .array(row.extend({ kind: text }))
    .max(500)
    .optional(),
  operators: rows.optional(),
  memory: z
    .object({
      peak_bytes: amount,
      categories: z.record(text, amount),
      largest: z.array(z.object({ bytes: amount, where: text })).max(20),
    })
    .nullish(),
})

export type Profile = z.infer<typeof profileSchema>
export type ProfileRow = z.infer<typeof row>

/** Null where nothing was to be traced, or no traced launch was begun. */
export type Profiles = Readonly<Record<Variant, Profile>> | null

/** For a launch of which nothing can be told: the reason stands in the report. */
export function unprofiled(problem: string): Profile {
  return { schema_version: 1, problems: [problem], traces: [] }
}

export function parseProfile(json: string): Profile {
  try {
    const parsed = profileSchema.safeParse(parseBounded(json, RECORD_LIMITS))
    return parsed.data ?? unprofiled(`${PROFILE_FILE} has another shape than a summary of traces has`)
  } catch {
    return unprofiled(`${PROFILE_FILE} cannot be read`)
  }
}
