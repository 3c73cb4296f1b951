import { describe, expect, test } from 'vitest'
import type { Experiment } from '../../../src/config/experiment.ts'
import { checkInterconnect } from '../../../src/judge/machine/interconnect.ts'
import { isFit } from '../../../src/judge/machine/machine.ts'
import type { InterconnectProbe, Transports } from '../../../src/measure/machine/interconnect.ts'
import type { Launched } from '../../../src/measure/outcome.ts'
import { anExperiment, launchedPlan } from '../../fixtures/builders.ts'
import { aPreflight, measured } from '../../fixtures/machine/records.ts'

const NVLINK: Transports = { within: ['nvlink'], between: [] }
const SOCKETS: Transports = { within: ['sockets'], between: [] }
const CLUSTER: Transports = { within: ['nvlink'], between: ['infiniband'] }

function aProbe(difference: Partial<InterconnectProbe> = {}): InterconnectProbe {
  const within = [{ node: 'n1', gigabytesPerSecond: 380 }]
  return { backend: 'nccl', bytes: 2 ** 28, within, between: [], transports: NVLINK, ...difference }
}

const twoNodes = (second: number, third = second): Partial<InterconnectProbe> => ({
  within: [
    { node: 'n1', gigabytesPerSecond: 380 },
    { node: 'n2', gigabytesPerSecond: second },
  ],
  between: [
    { nodes: ['n1', 'n2'], gigabytesPerSecond: 45 },
    { nodes: ['n2', 'n3'], gigabytesPerSecond: (45 * third) / 380 },
  ],
  transports: CLUSTER,
})

type Launch = Experiment['launch']
const anInterconnect = (
  interconnect?: Launch['interconnect'],
  variants: Partial<Experiment['variants']> = {},
) => {
  const experiment = anExperiment()
  return {
    ...experiment,
    launch: { ...experiment.launch, interconnect },
    variants: { ...experiment.variants, ...variants },
  }
}

const ALL = await launchedPlan(anExperiment())

/** Each launch of the plan went the way that is named for it. */
function launchesBy(way: (launched: Launched) => Transports | null | undefined): Launched[] {
  return ALL.map((one) => ({ ...one, launch: one.launch && { ...one.launch, interconnect: way(one) } }))
}

function found(
  experiment: ReturnType<typeof anInterconnect>,
  probe: InterconnectProbe | null,
  launched: readonly Launched[] = [],
) {
  const preflight = aPreflight(probe === null ? {} : { interconnect: measured(probe) })
  return checkInterconnect(experiment, preflight, launched)[0]
}

describe('the transport that the experiment names', () => {
  test('passes where the probe and all launches have it', () => {
    const check = found(
      anInterconnect('nvlink'),
      aProbe(),
      launchesBy(() => NVLINK),
    )
    expect(check).toEqual({
      name: 'interconnect',
      status: 'passed',
      detail: 'nvlink within a node at 380 GB/s',
    })
  })

  test('fails before the first launch where NCCL chose another', () => {
    const experiment = anInterconnect('nvlink')
    const preflight = aPreflight({ interconnect: measured(aProbe({ transports: SOCKETS })) })
    expect(isFit(experiment, preflight)).toBe(false)
    expect(isFit(anInterconnect('sockets'), preflight)).toBe(true)
    expect(found(experiment, aProbe({ transports: SOCKETS }))).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('sockets in the probe'),
    })
  })

  test('fails where one pair of GPUs goes another way', () => {
    const mixed = { within: ['nvlink' as const, 'shared-memory' as const], between: [] }
    expect(found(anInterconnect('nvlink'), aProbe({ transports: mixed }))?.status).toBe('failed')
  })

  test('fails where one launch went another way, and names it', () => {
    const odd = launchesBy(({ outcome }) => (outcome.run.block === 1 ? SOCKETS : NVLINK))
    expect(found(anInterconnect('nvlink'), aProbe(), odd)).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/sockets in .*block-1/),
    })
  })

  test('is the one between nodes, where there are several', () => {
    const probe = aProbe(twoNodes(375))
    expect(found(anInterconnect('infiniband'), probe)?.status).toBe('passed')
    expect(found(anInterconnect('nvlink'), probe)?.status).toBe('failed')
  })

  test('fails where a launch does not tell its way, whatever the probe has seen', () => {
    const silent = launchesBy(({ outcome }) => (outcome.run.variant === 'baseline' ? NVLINK : null))
    for (const probe of [aProbe(), null])
      expect(found(anInterconnect('nvlink'), probe, silent)).toMatchObject({
        status: 'failed',
        detail: expect.stringContaining('is unknown in'),
      })
  })

  test('was not measured before the first launch where nothing was seen', () => {
    const silent = aProbe({ transports: { within: [], between: [] } })
    expect(found(anInterconnect('nvlink'), silent)?.status).toBe('not-measured')
    expect(found(anInterconnect('nvlink'), null)?.status).toBe('not-measured')
  })
})

describe('without a name', () => {
  test('there is no check where nothing was looked at, as in older results', () => {
    expect(checkInterconnect(anInterconnect(), aPreflight(), ALL)).toEqual([])
    expect(checkInterconnect(anInterconnect(), null, ALL)).toEqual([])
  })

  test('a launch that does not tell its way leaves the question open', () => {
    expect(
      found(
        anInterconnect(),
        aProbe(),
        launchesBy(() => null),
      )?.status,
    ).toBe('not-measured')
  })

  test('sockets are a warning, other ways none', () => {
    expect(found(anInterconnect(), aProbe({ transports: SOCKETS }))?.status).toBe('warned')
    expect(found(anInterconnect('sockets'), aProbe({ transports: SOCKETS }))?.status).toBe('passed')
    expect(found(anInterconnect(), aProbe())?.status).toBe('passed')
  })

  test('a transport that changes between launches fails', () => {
    const odd = launchesBy(({ outcome }) => (outcome.run.block === 1 ? SOCKETS : NVLINK))
    expect(found(anInterconnect(), aProbe(), odd)?.status).toBe('failed')
    expect(found(anInterconnect(), null, odd)?.status).toBe('failed')
  })

  test('variants that set their own NCCL variables may differ, and each has to stay the same', () => {
    const own = { baseline: { ...anExperiment().variants.baseline, env: { NCCL_P2P_DISABLE: '1' } } }
    const byVariant = launchesBy(({ outcome }) => (outcome.run.variant === 'baseline' ? SOCKETS : NVLINK))
    expect(found(anInterconnect(undefined, own), aProbe(), byVariant)?.status).not.toBe('failed')
    expect(found(anInterconnect(), aProbe(), byVariant)?.status).toBe('failed')
    const byBlock = launchesBy(({ outcome }) => (outcome.run.block === 1 ? SOCKETS : NVLINK))
    expect(found(anInterconnect(undefined, own), aProbe(), byBlock)?.status).toBe('failed')
  })
})

test('nodes and pairs that are over 10% apart are a warning that names them', () => {
  expect(found(anInterconnect(), aProbe(twoNodes(350)))?.status).toBe('passed')
  expect(found(anInterconnect(), aProbe(twoNodes(340, 380)))).toMatchObject({
    status: 'warned',
    detail: expect.stringContaining('n2 is 12% behind n1'),
  })
  expect(found(anInterconnect(), aProbe(twoNodes(380, 300)))).toMatchObject({
    status: 'warned',
    detail: expect.stringContaining('n2 and n3 is 27% behind n1 and n2'),
  })
  expect(found(anInterconnect(), aProbe(twoNodes(0)))?.status).toBe('warned')
})

test('another back end is shown and never judged', () => {
  const gloo = aProbe({ ...twoNodes(100), backend: 'gloo', transports: { within: [], between: [] } })
  expect(found(anInterconnect('nvlink'), gloo)).toMatchObject({
    status: 'not-measured',
    detail: expect.stringContaining('gloo within a node at 100 GB/s, gloo between nodes'),
  })
})
