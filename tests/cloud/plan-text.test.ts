import { describe, expect, it } from 'vitest'
import { refuseBackends } from '../../src/cloud/backends.ts'
import { boundOfCost } from '../../src/cloud/limits.ts'
import { isMachineName, machineName } from '../../src/cloud/names.ts'
import { renderCloudPlan } from '../../src/cloud/plan-text.ts'

const LIMITS = { maxPricePerHour: 3, maxMinutes: 60 }

it('costs at most the highest price for start, run and stop', () => {
  expect(boundOfCost(LIMITS)).toBeCloseTo((3 * (20 + 60 + 22)) / 60)
})

it('a plan shows the bound, the offers and the expected cost', () => {
  const offer = { backend: 'vastai', region: 'no-oslo', gpus: '1 x H100 80 GB', pricePerHour: 2.0139 }
  const expected = { name: 'my-change', seconds: 1440, earlierLaunches: 8 }
  expect(renderCloudPlan(LIMITS, { first: [offer], total: 7 }, [expected, 'other'])).toMatchInlineSnapshot(`
    "1 of 7 offers, in the order in which they would be tried

    | provider | region  | GPUs           | per hour |
    | -------- | ------- | -------------- | -------- |
    | vastai   | no-oslo | 1 x H100 80 GB | $2.02    |

    At most $5.10: $3.00 per hour x (20 min 00 s to start + 1 h 00 min + 22 min 00 s to stop)
    Expected for my-change: about $0.81 for 24 min 00 s, from 8 earlier launches and $2.02 per hour, besides the machine's start and its set-up
    Expected for other: unknown, as no earlier result of it tells how long a launch takes
    Nothing was started."
  `)
})

it('a plan without an offer says what may be changed, and still tells the bound', () => {
  const text = renderCloudPlan(LIMITS, { first: [], total: 0 }, [])
  expect(text).toContain('No offer')
  expect(text).toContain('At most $5.10')
})

describe('the name of a machine', () => {
  it('is the same for whoever starts it and whoever takes it down', () => {
    const run = { runId: 18_000_000_000, attempt: 2, leg: 'configs/experiments/My Experiment.yaml' }
    expect(machineName(run)).toBe(machineName({ ...run }))
  })

  it.each([
    [{ runId: 1, attempt: 1, leg: '' }],
    [{ runId: 1, attempt: 2, leg: '' }],
    [{ runId: 99_999_999_999_999, attempt: 99, leg: 'ünïcode / leg' }],
  ])('is one that dstack takes, and that a sweep knows: %o', (run) => {
    expect(machineName(run)).toMatch(/^[a-z][a-z0-9-]{1,40}$/)
    expect(isMachineName(machineName(run))).toBe(true)
  })

  it('is unique to run, attempt and leg', () => {
    const runs = [1, 2].flatMap((runId) =>
      [1, 2].flatMap((attempt) => ['', 'a', 'b'].map((leg) => ({ runId, attempt, leg }))),
    )
    expect(new Set(runs.map(machineName)).size).toBe(runs.length)
  })
})

describe('back ends', () => {
  const vastai = (communityCloud: boolean | null) => ({ name: 'vastai', communityCloud })
  const wish = { backends: [], communityCloud: false }

  it('with private persons among the hosts are refused unless they are named', () => {
    expect(() => refuseBackends([vastai(true)], wish)).toThrow('community_cloud: false')
    expect(() => refuseBackends([vastai(true)], { ...wish, communityCloud: true })).not.toThrow()
    expect(() => refuseBackends([vastai(false)], wish)).not.toThrow()
  })

  it('that are not asked for may have them', () => {
    const vultr = { name: 'vultr', communityCloud: null }
    expect(() => refuseBackends([vastai(true), vultr], { ...wish, backends: ['vultr'] })).not.toThrow()
  })

  it('have to be there', () => {
    expect(() => refuseBackends([], wish)).toThrow('config.yml')
    expect(() => refuseBackends([vastai(false)], { ...wish, backends: ['vultr'] })).toThrow('vultr')
  })
})
