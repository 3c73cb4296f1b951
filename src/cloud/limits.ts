// How long a rented machine may live, and what that can cost at most.

/** Of one machine; prices are in dollars. */
export interface Limits {
  readonly maxPricePerHour: number
  /** Of the task in its running state. */
  readonly maxMinutes: number
}

/** From the order to a runner that waits for its job; what takes longer is taken down. dstack's own limit is mostly 10. */
export const PROVISIONING_MINUTES = 20

/** 2 in which dstack lets the machine end itself, 5 for its task, and 15 in which it asks the provider to delete it. */
export const STOP_MINUTES = 22

/** dstack ends a graceful stop after that. */
export const GRACEFUL_STOP_MINUTES = 5

/** A job that has not come by then has been cancelled, or goes to another runner. */
export const NO_JOB_MINUTES = 15

export function longestMinutes({ maxMinutes }: Pick<Limits, 'maxMinutes'>): number {
  return PROVISIONING_MINUTES + maxMinutes + STOP_MINUTES
}

/** In dollars; holds as long as the dstack server runs. */
export function boundOfCost(limits: Limits): number {
  return (limits.maxPricePerHour * longestMinutes(limits)) / 60
}

/** In dollars, of the experiment alone: without the machine's start and what is installed on it. */
export function costOf(seconds: number, pricePerHour: number): number {
  return (seconds / 3600) * pricePerHour
}
