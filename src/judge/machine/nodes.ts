// Every node is judged: the facts of each, and whether all are alike. One host is a list of one.
import type { GpuProbe, Measured, NodeFacts, Preflight } from '../../measure/machine-record.ts'
import { listed, shortened } from '../../text/wording.ts'
import { failed, type MachineCheck, machineCheck, passed } from './machine-check.ts'
import { checkPreflight } from './preflight.ts'

type Answered = Extract<NodeFacts, { status: 'answered' }>

/** The checks of each node's facts, one for all: what differs names the nodes. */
export function checkNodes(preflight: Preflight): MachineCheck[] {
  const { nodes, processesWanted } = preflight
  if (nodes === undefined) return checkPreflight(preflight)
  const answered = nodes.filter((one) => one.status === 'answered')
  // GPUs of two nodes are compared as those of one are.
  const probes = together(answered)
  const checks = answered.map(({ node, gpus, processes }) => ({
    node,
    checks: checkPreflight({ gpus, processes, probes, processesWanted }),
  }))
  const names = [...new Set(checks.flatMap((one) => one.checks.map(({ name }) => name)))]
  return names.map((name) =>
    combined(
      checks.flatMap((one) => {
        const check = one.checks.find((candidate) => candidate.name === name)
        return check === undefined ? [] : [{ node: one.node, check }]
      }),
      name,
    ),
  )
}

function together(nodes: readonly Answered[]): Measured<GpuProbe[]> {
  const missing = nodes.map(({ probes }) => probes).find(({ status }) => status === 'not-measured')
  if (missing?.status === 'not-measured') return missing
  const value = nodes.flatMap(({ probes }) => (probes.status === 'measured' ? probes.value : []))
  return { status: 'measured', value }
}

const WORST_FIRST = ['failed', 'warned', 'not-measured', 'passed'] as const

/** A line per node only where they differ. */
function combined(
  found: readonly { readonly node: string; readonly check: MachineCheck }[],
  name: MachineCheck['name'],
): MachineCheck {
  const status = WORST_FIRST.find((one) => found.some(({ check }) => check.status === one)) ?? 'not-measured'
  const details = [...Map.groupBy(found, ({ check }) => check.detail)]
  const [only] = details
  if (only !== undefined && details.length === 1) return machineCheck(name, { status, detail: only[0] })
  const texts = details.map(([detail, owners]) => `${listed(owners.map(({ node }) => node))}: ${detail}`)
  return machineCheck(name, { status, detail: texts.join('; ') })
}

/** Empty on one host: there is nothing to compare it with. */
export function checkAlike({ nodes }: Pick<Preflight, 'nodes'>): MachineCheck[] {
  if (nodes === undefined) return []
  const lost = nodes.filter((one) => one.status === 'unreachable')
  if (lost.length > 0) {
    const list = lost.map(({ node, reason }) => `${node} (${reason})`)
    return [machineCheck('nodes', failed(`did not answer: ${listed(list)}. Leave them out, or repair them`))]
  }
  const answered = nodes.filter((one) => one.status === 'answered')
  const differences = ALIKE.flatMap(([what, of]) => differenceOf(what, answered, of) ?? [])
  if (differences.length > 0)
    return [
      machineCheck(
        'nodes',
        failed(
          `${differences.join('; ')}. A node that differs sets the pace of all: choose nodes of one kind`,
        ),
      ),
    ]
  const same = [
    ...(answered.some(({ gpus }) => gpus.status === 'measured') ? ['GPUs', 'drivers'] : []),
    'versions',
    ...(answered.some(({ data }) => data !== null) ? ['data'] : []),
  ]
  return [
    machineCheck(
      'nodes',
      passed(`${listed(answered.map(({ node }) => node))} have the same ${listed(same)}`),
    ),
  ]
}

const ALIKE: readonly (readonly [string, (node: Answered) => string])[] = [
  ['GPUs', ({ gpus }) => gpuText(gpus, ({ name }) => name)],
  ['drivers', ({ gpus }) => gpuText(gpus, ({ driver }) => driver)],
  ['power limits', ({ gpus }) => gpuText(gpus, ({ powerLimitWatts }) => `${powerLimitWatts ?? '?'} W`)],
  ['versions', ({ versions }) => versionsText(versions)],
  ['the files under data:', ({ data }) => (data === null ? 'none' : `SHA-256 ${data.slice(0, 12)}`)],
]

type Gpu = Extract<Preflight['gpus'], { status: 'measured' }>['value'][number]

function gpuText(gpus: Preflight['gpus'], of: (gpu: Gpu) => string): string {
  if (gpus.status === 'not-measured') return 'none seen'
  return `${gpus.value.length} x ${[...new Set(gpus.value.map(of))].join(', ')}`
}

function versionsText(versions: Readonly<Record<string, string>>): string {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .sort()
    .join(', ')
}

function differenceOf(
  what: string,
  nodes: readonly Answered[],
  of: (node: Answered) => string,
): string | null {
  const groups = [...Map.groupBy(nodes, of)]
  if (groups.length < 2) return null
  const texts = groups.map(
    ([value, owners]) => `${shortened(value, MOST_CHARACTERS)} (${listed(owners.map(({ node }) => node))})`,
  )
  return `${what} differ: ${texts.join(' / ')}`
}

const MOST_CHARACTERS = 200
