// Gives back the allocation of a Speedproof that was killed, and has what runs in it end at once.
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { tryParseJson } from '../../system/parse-json.ts'
import { lossOf } from './allocation.ts'
import { cancelJob, jobFacts } from './commands.ts'
import { endLease } from './lease.ts'

const leftAllocation = z.object({
  jobId: z.string().regex(/^\d+$/).nullable(),
  leaseFile: z.string().min(1),
})

/** Agents end what they run within 4 s of the end of the lease; Slurm ends what is left 30 s after scancel. */
const GIVEN_BACK_SECONDS = 40

export interface Release {
  /** What was given back; null where nothing was left. */
  readonly given: string | null
  /** What is not, and what to do. */
  readonly remains: string | null
}

export async function releaseAllocation(state: string): Promise<Release> {
  const left = leftAllocation.safeParse(tryParseJson(state)).data
  if (left === undefined) return { given: null, remains: null }
  const isOver = async () => {
    const job = left.jobId === null ? null : await jobFacts(left.jobId)
    return job !== null && lossOf(job) !== null
  }
  const wasOver = left.jobId !== null && (await isOver())
  try {
    endLease(left.leaseFile)
  } catch {
    // Whoever moved the folder has its lease grow old.
  }
  if (left.jobId === null || wasOver) return { given: null, remains: null }
  await cancelJob(left.jobId)
  const deadline = performance.now() + GIVEN_BACK_SECONDS * 1000
  while (performance.now() < deadline) {
    if (await isOver()) return { given: `Slurm job ${left.jobId}`, remains: null }
    await sleep(1000)
  }
  return {
    given: null,
    remains: `Slurm job ${left.jobId} is not over yet; look at it with squeue, and end it with scancel`,
  }
}
