// The name of a rented machine, made of the workflow run's id and attempt: the stop job makes it again by itself.
import { createHash } from 'node:crypto'

export interface WorkflowAttempt {
  readonly runId: number
  readonly attempt: number
  /** Tells the legs of a matrix apart; empty where there is none. */
  readonly leg: string
}

/** dstack allows 41 characters. It is the runner's name and its label too. */
export function machineName({ runId, attempt, leg }: WorkflowAttempt): string {
  const base = `speedproof-${runId}-${attempt}`
  return leg === '' ? base : `${base}-${createHash('sha256').update(leg).digest('hex').slice(0, 6)}`
}

/** Others may use the same server: nothing else of theirs is touched. */
export function isMachineName(name: string): boolean {
  return /^speedproof-\d+-\d+(-[0-9a-f]{6})?$/.test(name)
}
