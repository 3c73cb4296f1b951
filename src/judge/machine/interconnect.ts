// Did NCCL move data as the experiment expects, and alike in all launches? Other back ends are shown and not judged.
import { type Experiment, VARIANTS, type Variant } from '../../config/experiment.ts'
import type { Transport } from '../../config/transports.ts'
import type { InterconnectProbe, Transports } from '../../measure/machine/interconnect.ts'
import type { Preflight } from '../../measure/machine-record.ts'
import type { Launched } from '../../measure/outcome.ts'
import { number, percent } from '../../text/numbers.ts'
import { listed } from '../../text/wording.ts'
import {
  type Finding,
  failed,
  type MachineCheck,
  machineCheck,
  notMeasured,
  passed,
  warned,
} from './machine-check.ts'

/** Of the fastest bandwidth over the slowest one, minus 1. */
const MAX_APART = 0.1

interface Seen {
  readonly title: string
  /** Null for the probe, which runs without the variables of a variant. */
  readonly variant: Variant | null
  readonly transports: Transports
}

/** Empty where nothing was looked at and nothing is expected. */
export function checkInterconnect(
  { launch, variants }: Pick<Experiment, 'launch' | 'variants'>,
  preflight: Preflight | null,
  launched: readonly Launched[] = [],
): MachineCheck[] {
  const probe = preflight?.interconnect
  const seen = [...probeSeen(probe), ...launchesSeen(launched)]
  const wanted = launch.interconnect
  if (probe === undefined && seen.length === 0 && wanted === undefined) return []
  const silent = launch.nodes * launch.nproc_per_node > 1 ? silentLaunches(launched) : []
  return [machineCheck('interconnect', findingOf(wanted, probe, seen, silent, hasOwnNccl(variants)))]
}

type Probe = Preflight['interconnect']

function findingOf(
  wanted: Transport | undefined,
  probe: Probe,
  seen: readonly Seen[],
  silent: readonly string[],
  mayDiffer: boolean,
): Finding {
  const wrong = wanted === undefined ? [] : seen.filter((one) => decisive(one).some((way) => way !== wanted))
  if (wrong.length > 0) {
    const list = wrong.map((one) => `${waysText(decisive(one))} in ${one.title}`)
    return failed(
      `launch.interconnect names ${wanted}, and NCCL chose ${listed(list)}. Look for what NCCL_DEBUG=INFO says about it, or name what is meant`,
    )
  }
  const changes = changesIn(seen, mayDiffer)
  if (changes !== null)
    return failed(`it changed between launches: ${changes}. Find out why, and measure again`)
  const shown = shownText(probe, seen)
  if (probe?.status === 'measured' && probe.value.backend !== 'nccl')
    return notMeasured(`${shown}; only NCCL is judged`)
  if (silent.length > 0) {
    const unknown = `which way NCCL took is unknown in ${listed(silent, 2)}`
    // What the experiment names has to be seen, or any launch could have gone another way.
    return wanted === undefined
      ? notMeasured([shown, unknown].filter(Boolean).join('; '))
      : failed(
          `launch.interconnect names ${wanted}, but ${unknown}. Set no NCCL_DEBUG variable, so that NCCL's log can be read, or name no transport`,
        )
  }
  if (seen.length === 0) return notMeasured(probe?.status === 'not-measured' ? probe.reason : NOTHING_SAID)
  const warnings = [
    ...(wanted === undefined && seen.some((one) => decisive(one).includes('sockets'))
      ? ['NCCL uses sockets, its slowest way. If that is meant, name it in launch.interconnect']
      : []),
    ...(probe?.status === 'measured' ? apartText(probe.value) : []),
  ]
  return warnings.length > 0 ? warned([shown, ...warnings].join('. ')) : passed(shown)
}

const NOTHING_SAID = "NCCL's log has no line about it"

function probeSeen(probe: Probe): Seen[] {
  if (probe?.status !== 'measured' || probe.value.backend !== 'nccl') return []
  const seen: Seen = { title: 'the probe', variant: null, transports: probe.value.transports }
  return decisive(seen).length === 0 ? [] : [seen]
}

function launchesSeen(launched: readonly Launched[]): Seen[] {
  return launched.flatMap(({ launch, outcome }) => {
    // What ended early may have connected in part.
    const transports = outcome.status === 'finished' ? launch?.interconnect : null
    return transports ? [{ title: outcome.run.id, variant: outcome.run.variant, transports }] : []
  })
}

/** Finished launches of which nothing tells the way. */
function silentLaunches(launched: readonly Launched[]): string[] {
  return launched.flatMap(({ launch, outcome }) =>
    outcome.status === 'finished' && !launch?.interconnect ? [outcome.run.id] : [],
  )
}

/** The way between nodes where there are several, else that within the host: it bounds the others. */
function decisive({ transports: { within, between } }: Pick<Seen, 'transports'>): readonly Transport[] {
  return between.length > 0 ? between : within
}

/** Variants with NCCL variables of their own may well differ: that is what they compare. */
function hasOwnNccl(variants: Experiment['variants']): boolean {
  const [baseline, optimized] = VARIANTS.map((variant) =>
    JSON.stringify(
      Object.entries(variants[variant].env)
        .filter(([name]) => name.startsWith('NCCL_'))
        .sort(),
    ),
  )
  return baseline !== optimized
}

function changesIn(seen: readonly Seen[], mayDiffer: boolean): string | null {
  const launches = seen.filter(({ variant }) => variant !== null)
  const groups = mayDiffer
    ? VARIANTS.map((variant) => launches.filter((one) => one.variant === variant))
    : [launches]
  for (const group of groups) {
    const kinds = [...Map.groupBy(group, ({ transports }) => transportsText(transports))]
    if (kinds.length > 1)
      return kinds
        .map(
          ([kind, runs]) =>
            `${kind} (${listed(
              runs.map(({ title }) => title),
              2,
            )})`,
        )
        .join(' / ')
  }
  return null
}

function apartText({ within, between }: InterconnectProbe): string[] {
  const nodes = within.map(({ node, gigabytesPerSecond }) => ({ name: node, gigabytesPerSecond }))
  const pairs = between.map(({ nodes: [one, other], gigabytesPerSecond }) => ({
    name: `${one} and ${other}`,
    gigabytesPerSecond,
  }))
  return [nodes, pairs].flatMap((all) => {
    const sorted = all.toSorted((a, b) => a.gigabytesPerSecond - b.gigabytesPerSecond)
    const [slowest, fastest] = [sorted[0], sorted.at(-1)]
    if (slowest === undefined || fastest === undefined) return []
    const apart = fastest.gigabytesPerSecond / slowest.gigabytesPerSecond - 1
    // One that moved nothing is infinitely far behind.
    return apart > MAX_APART || Number.isNaN(apart)
      ? [`${slowest.name} is ${Number.isFinite(apart) ? percent(apart) : 'far'} behind ${fastest.name}`]
      : []
  })
}

function shownText(probe: Probe, seen: readonly Seen[]): string {
  const transports = seen[0]?.transports ?? { within: [], between: [] }
  const value = probe?.status === 'measured' ? probe.value : null
  const slowest = (all: readonly { readonly gigabytesPerSecond: number }[] = []) =>
    all.length === 0 ? [] : [Math.min(...all.map(({ gigabytesPerSecond }) => gigabytesPerSecond))]
  const part = (
    where: string,
    ways: readonly Transport[],
    all: readonly { readonly gigabytesPerSecond: number }[] = [],
  ) => {
    const speeds = slowest(all).map((speed) => `at ${number(speed, 3)} GB/s`)
    return ways.length + speeds.length === 0 ? [] : [[waysText(ways, value), where, ...speeds].join(' ')]
  }
  return [
    ...part('within a node', transports.within, value?.within),
    ...part('between nodes', transports.between, value?.between),
  ].join(', ')
}

function waysText(ways: readonly Transport[], probe: InterconnectProbe | null = null): string {
  return ways.length === 0 ? (probe?.backend ?? 'no way') : ways.join(' and ')
}

function transportsText({ within, between }: Transports): string {
  return [
    ...(within.length > 0 ? [`${waysText(within)} within a node`] : []),
    ...(between.length > 0 ? [`${waysText(between)} between nodes`] : []),
  ].join(', ')
}
