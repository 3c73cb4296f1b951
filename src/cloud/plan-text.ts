// What a rented machine would be and cost, before anything is started.
import { markdownTable } from 'markdown-table'
import { dollars, duration } from '../text/numbers.ts'
import { boundOfCost, costOf, type Limits, PROVISIONING_MINUTES, STOP_MINUTES } from './limits.ts'

export interface Offer {
  readonly backend: string
  readonly region: string
  readonly gpus: string
  readonly pricePerHour: number
}

export interface Offers {
  /** In the order in which the server would try them. */
  readonly first: readonly Offer[]
  readonly total: number
}

/** Null where no earlier result tells how long a launch takes. */
export interface Expected {
  readonly name: string
  readonly seconds: number
  readonly earlierLaunches: number
}

export function renderCloudPlan(
  limits: Limits,
  { first, total }: Offers,
  expected: readonly (Expected | string)[],
): string {
  const [tried] = first
  const rows = first.map(({ backend, region, gpus, pricePerHour }) => [
    backend,
    region,
    gpus,
    dollars(pricePerHour),
  ])
  return [
    ...(tried === undefined
      ? ['No offer: wait, raise --max-price, or name another --gpu, or no --backends and --regions']
      : [
          `${first.length} of ${total} offers, in the order in which they would be tried`,
          '',
          markdownTable([['provider', 'region', 'GPUs', 'per hour'], ...rows]),
        ]),
    '',
    boundText(limits),
    ...expected.map((one) => expectedText(one, tried?.pricePerHour ?? limits.maxPricePerHour)),
    'Nothing was started.',
  ].join('\n')
}

export function boundText(limits: Limits): string {
  const times = [PROVISIONING_MINUTES, limits.maxMinutes, STOP_MINUTES].map((minutes) =>
    duration(minutes * 60),
  )
  const [start, run, stop] = times
  return `At most ${dollars(boundOfCost(limits))}: ${dollars(limits.maxPricePerHour)} per hour x (${start} to start + ${run} + ${stop} to stop)`
}

function expectedText(expected: Expected | string, pricePerHour: number): string {
  if (typeof expected === 'string')
    return `Expected for ${expected}: unknown, as no earlier result of it tells how long a launch takes`
  const { name, seconds, earlierLaunches } = expected
  return `Expected for ${name}: about ${dollars(costOf(seconds, pricePerHour))} for ${duration(seconds)}, from ${earlierLaunches} earlier launches and ${dollars(pricePerHour)} per hour, besides the machine's start and its set-up`
}
