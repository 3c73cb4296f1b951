// Is a machine gone? By what its server has seen of it, which is more than that the run has ended.
export interface ServerEvent {
  readonly message: string
  readonly recordedAt: Date
}

/** One that dstack has ordered, as its server knows it. */
export interface Instance {
  readonly name: string
  /** Null where the server has no record of it any more, as of an order that no provider took. */
  readonly status: string | null
  /** Oldest first. */
  readonly events: readonly ServerEvent[]
}

export type Departure =
  | { readonly status: 'gone' }
  /** It is being deleted, or still used. */
  | { readonly status: 'not-yet'; readonly reason: string }
  /** The server has given it up, and it may run and cost on. */
  | { readonly status: 'given-up'; readonly reason: string }

/**
 * dstack asks a provider for 15 minutes to delete a machine. Then it writes TERMINATED all the same, and no event tells
 * of it: only the time between the two events does, which is over 14 minutes. Seen in dstack 0.22.5.
 */
const GIVEN_UP_MINUTES = 14

export function departureOf({ name, status, events }: Instance): Departure {
  if (status !== null && status !== 'terminated') return { status: 'not-yet', reason: `${name} is ${status}` }
  // Events may come later than what they tell of.
  if (events.length === 0) return { status: 'not-yet', reason: `The server has no events of ${name}` }
  if (!events.some(({ message }) => /^Instance provisioned\b|-> PROVISIONING\b/.test(message)))
    return { status: 'gone' } // An order: nothing was rented.
  if (status === null) return { status: 'given-up', reason: `The server has lost its record of ${name}` }
  const begun = events.findIndex(({ message }) => /-> TERMINATING\b/.test(message))
  const ended = events.findLast(({ message }) => /-> TERMINATED\b/.test(message))
  const first = events[begun]
  if (first === undefined || ended === undefined)
    return { status: 'not-yet', reason: `The server has no event of the end of ${name}` }
  const failure = events.slice(begun + 1).find(({ message }) => /\b(error|fail(ed|ure)?)\b/i.test(message))
  if (failure !== undefined) return { status: 'given-up', reason: `${name}: ${failure.message}` }
  const minutes = (ended.recordedAt.getTime() - first.recordedAt.getTime()) / 60_000
  if (minutes >= GIVEN_UP_MINUTES)
    return {
      status: 'given-up',
      reason: `${name} was written off after ${Math.round(minutes)} minutes, in which the provider did not delete it`,
    }
  return { status: 'gone' }
}

/** Of all machines of a run: the worst. A run that has ordered none has none to lose. */
export function departureOfAll(instances: readonly Instance[]): Departure {
  const all = instances.map(departureOf)
  return (
    all.find(({ status }) => status === 'given-up') ??
    all.find(({ status }) => status === 'not-yet') ?? { status: 'gone' }
  )
}
