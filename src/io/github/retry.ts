// Repeats a call that failed for a passing reason, within a fixed total time.
import { setTimeout as sleep } from 'node:timers/promises'

export interface Patience {
  attempts: number
  /** Doubles from attempt to attempt, unless the server names a time. */
  firstDelayMs: number
  /** For all attempts and waits together; also ends an attempt that hangs. */
  totalMs: number
}

export type RetryAdvice =
  | { kind: 'final' }
  /** afterMs: the time the server asks for; null when it names none. */
  | { kind: 'passing'; afterMs: number | null }

/**
 * Throws the last error when attempts or time are used up. A wait that would pass the deadline is not begun:
 * a server that asks for an hour gets its answer at once.
 */
export async function withRetry<T>(
  call: (signal: AbortSignal) => Promise<T>,
  advise: (error: unknown) => RetryAdvice,
  { attempts, firstDelayMs, totalMs }: Patience,
): Promise<T> {
  const deadline = Date.now() + totalMs
  const signal = AbortSignal.timeout(totalMs)
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(signal)
    } catch (error) {
      const advice = advise(error)
      if (advice.kind === 'final' || attempt >= attempts) throw error
      const delayMs = advice.afterMs ?? firstDelayMs * 2 ** (attempt - 1)
      if (Date.now() + delayMs >= deadline) throw error
      await sleep(delayMs)
    }
  }
}
