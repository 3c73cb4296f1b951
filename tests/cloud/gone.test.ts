import { describe, expect, it } from 'vitest'
import { departureOf, departureOfAll, type Instance } from '../../src/cloud/gone.ts'

const MINUTE = 60_000

/** Each event a minute after the one before, unless it says how many. */
function instance(
  status: string | null,
  ...events: (string | [message: string, minutes: number])[]
): Instance {
  let time = 0
  return {
    name: 'speedproof-0',
    status,
    events: events.map((event) => {
      const [message, minutes] = typeof event === 'string' ? [event, 1] : event
      time += minutes * MINUTE
      return { message, recordedAt: new Date(time) }
    }),
  }
}

const ORDERED = 'Instance created for job. Instance status: PENDING'
const RENTED = 'Instance provisioned for job. Instance status: PROVISIONING'
const GOING = 'Instance status changed BUSY -> TERMINATING. Termination reason: JOB_FINISHED'
const BROKEN =
  'Instance status changed PROVISIONING -> TERMINATING. Termination reason: ERROR (Error while waiting for instance to become running)'
const GONE = 'Instance status changed TERMINATING -> TERMINATED'

describe('a machine', () => {
  it.each([
    ['was deleted after its job', instance('terminated', ORDERED, RENTED, GOING, GONE)],
    ['was deleted since it did not boot', instance('terminated', ORDERED, RENTED, BROKEN, GONE)],
    ['was deleted at the third try', instance('terminated', ORDERED, RENTED, GOING, [GONE, 3])],
    ['was ordered, and handed out by nobody', instance(null, ORDERED)],
  ])('is gone that %s', (_, one) => {
    expect(departureOf(one)).toEqual({ status: 'gone' })
  })

  it.each([
    ['the event of its end', instance('terminated', ORDERED, RENTED, GOING)],
    ['any event', instance('terminated')],
  ])('is not gone before the server shows %s', (_, one) => {
    expect(departureOf(one)).toMatchObject({ status: 'not-yet' })
  })

  it.each(['pending', 'provisioning', 'idle', 'busy', 'terminating'])(
    'is not gone while it is %s',
    (status) => {
      expect(departureOf(instance(status, ORDERED, RENTED))).toMatchObject({ status: 'not-yet' })
    },
  )

  it.each([
    ['after 15 minutes in vain', instance('terminated', ORDERED, RENTED, GOING, [GONE, 15])],
    [
      'with an error',
      instance('terminated', ORDERED, RENTED, GOING, 'Failed to terminate instance. Will retry', GONE),
    ],
    ['and its record is lost', instance(null, ORDERED, RENTED)],
  ])('may cost on that was written off %s', (_, one) => {
    expect(departureOf(one)).toMatchObject({ status: 'given-up' })
  })
})

it('one machine that was written off outweighs all that are gone or going', () => {
  const gone = instance('terminated', ORDERED, RENTED, GOING, GONE)
  const going = instance('terminating', ORDERED, RENTED, GOING)
  const lost = instance('terminated', ORDERED, RENTED, GOING, [GONE, 15])
  expect(departureOfAll([gone, going, lost]).status).toBe('given-up')
  expect(departureOfAll([gone, going]).status).toBe('not-yet')
  expect(departureOfAll([gone]).status).toBe('gone')
  expect(departureOfAll([]).status).toBe('gone')
})
