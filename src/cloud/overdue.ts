// Which machines a sweep takes down: those of ours that are older than their own limit.
import { longestMinutes } from './limits.ts'
import { isMachineName } from './names.ts'

/** A run of the server; `maxSeconds`: its max_duration, null where somebody has switched it off. */
export interface ServerRun {
  readonly name: string
  readonly status: string
  readonly submittedAt: Date
  readonly maxSeconds: number | null
}

const ENDED = ['terminated', 'failed', 'done']
/** A machine that was given up is reported by the sweeps of that long. */
const REMEMBERED_DAYS = 3

export function hasEnded({ status }: Pick<ServerRun, 'status'>): boolean {
  return ENDED.includes(status)
}

export function isOverdue(run: ServerRun, now: Date): boolean {
  if (!isMachineName(run.name) || hasEnded(run)) return false
  return minutesOf(run, now) > longestMinutes({ maxMinutes: (run.maxSeconds ?? 0) / 60 })
}

/** Has it ended so lately that its machine has to be asked after? */
export function isRemembered(run: ServerRun, now: Date): boolean {
  return isMachineName(run.name) && hasEnded(run) && run.submittedAt >= rememberedSince(now)
}

export function rememberedSince(now: Date): Date {
  return new Date(now.getTime() - REMEMBERED_DAYS * 24 * 60 * 60_000)
}

function minutesOf({ submittedAt }: ServerRun, now: Date): number {
  return (now.getTime() - submittedAt.getTime()) / 60_000
}
