// Did the machine stay fit to measure on while the runs went? Asked of every node, and answered for all of them.
import type { MachineSummary, NodeSummary } from '../../measure/machine.ts'
import type { RunSummary } from '../../measure/summary.ts'
import { isMeasured } from '../../plan/plan.ts'
import { percent } from '../../text/numbers.ts'
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

/** Share of steady samples with a slowdown, above which a run is not comparable. */
const MAX_SLOWDOWN_SHARE = 0.01

/** `runs` are the finished ones that count, `machines` all that were watched. */
export function checkRuns(runs: readonly RunSummary[], machines: readonly MachineSummary[]): MachineCheck[] {
  const watched = runs.filter(({ runId }) => machines.some((machine) => machine.runId === runId))
  // What disturbs a warm-up launch disturbs nothing that is counted.
  const measured = new Set(runs.filter(isMeasured).map(({ runId }) => runId))
  const counted = machines.filter(({ runId }) => measured.has(runId))
  const complete = counted.filter(({ isComplete }) => isComplete)
  const incomplete = [...measured].filter((id) => !complete.some(({ runId }) => runId === id))
  const ofCounted = (check: (seen: readonly MachineSummary[]) => Finding): Finding => {
    const found = check(counted)
    return found.status !== 'failed' && incomplete.length > 0 && check(complete).status === 'passed'
      ? warned(
          `${listed(incomplete)}: the GPU monitor stopped before the run ended, so later disturbances are unknown`,
        )
      : found
  }
  const ofAll = (found: Finding): Finding =>
    // What is wrong in one run is wrong; what is right in some says nothing about the others.
    found.status === 'passed' && watched.length < runs.length
      ? notMeasured('not every run was monitored')
      : found
  const ofNodes = (found: Finding): Finding =>
    found.status === 'passed' && machines.some(({ isWhole }) => !isWhole)
      ? notMeasured('not every GPU of every node was monitored in every run')
      : found
  return [
    machineCheck('GPU state', ofAll(ofNodes(checkFingerprints(machines)))),
    machineCheck('throttling', ofCounted(checkThrottling)),
    machineCheck('GPU sharing', ofCounted(checkSharing)),
    machineCheck('GPU release', ofAll(ofNodes(checkRelease(machines)))),
  ]
}

/** Why a run cannot count; empty when nothing speaks against it. A block with such a run is repeated once. */
export function machineProblems({ nodes }: MachineSummary): string[] {
  return nodes.flatMap(({ node, slowdownShare, foreignProcesses }) =>
    [
      ...(slowdownShare !== null && slowdownShare > MAX_SLOWDOWN_SHARE
        ? [`a GPU was slowed down by heat or hardware in ${percent(slowdownShare)} of the steady samples`]
        : []),
      ...foreignProblems(foreignProcesses),
    ].map((problem) => atNode(node, problem)),
  )
}

/** Null: they could not be seen. */
export function foreignProblems(pids: readonly number[] | null): string[] {
  return pids === null || pids.length === 0
    ? []
    : [`${listed(pids.map((pid) => `process ${pid}`))} computed on its GPUs at the same time`]
}

/** Nothing to add where an experiment has one host. */
export function atNode(node: string | null, text: string): string {
  return node === null ? text : `${node}: ${text}`
}

/** Runs on a node whose GPUs were not locked for them, and why. */
export function unlockedRuns(machines: readonly MachineSummary[]): string[] {
  return nodesOf(machines).flatMap((one) =>
    one.unlocked === null ? [] : [`${titleOf(one)} (${one.unlocked})`],
  )
}

/** Were any processes of the runs seen on the GPUs? */
export function sawProcesses(machines: readonly MachineSummary[]): boolean {
  return nodesOf(machines).some(({ foreignProcesses }) => foreignProcesses !== null)
}

interface RunNode extends NodeSummary {
  readonly runId: string
}

function nodesOf(machines: readonly MachineSummary[]): RunNode[] {
  return machines.flatMap(({ runId, nodes }) => nodes.map((node) => ({ runId, ...node })))
}

function titleOf({ runId, node }: RunNode): string {
  return node === null ? runId : `${runId} on ${node}`
}

function checkFingerprints(machines: readonly MachineSummary[]): Finding {
  const nodes = nodesOf(machines)
  const changed = [...Map.groupBy(nodes, ({ node }) => node)].flatMap(([node, seen]) => {
    const known = fingerprintsOf(seen).filter((fingerprint) => fingerprint !== null)
    const kinds = [...new Set(known)]
    return kinds.length > 1 ? [atNode(node, listed(kinds))] : []
  })
  if (changed.length > 0) return failed(`it changed between runs: ${changed.join('; ')}`)
  const isKnown = fingerprintsOf(nodes).every((fingerprint) => fingerprint !== null)
  return isKnown && nodes.length > 0
    ? passed('same GPUs, driver, power limits and modes before and after every run')
    : notMeasured('not every run reported it')
}

function fingerprintsOf(nodes: readonly NodeSummary[]): (string | null)[] {
  return nodes.flatMap(({ fingerprintBefore, fingerprintAfter }) => [fingerprintBefore, fingerprintAfter])
}

function checkThrottling(machines: readonly MachineSummary[]): Finding {
  const slowed = nodesOf(machines).filter(({ slowdownShare }) => (slowdownShare ?? 0) > MAX_SLOWDOWN_SHARE)
  if (slowed.length > 0) {
    const list = slowed.map((one) => `${titleOf(one)} (${percent(one.slowdownShare ?? 0)})`)
    return failed(`slowed down by heat or hardware in over 1% of the steady samples: ${listed(list)}`)
  }
  const isKnown = machines.every(({ slowdownShare, isComplete }) => slowdownShare !== null && isComplete)
  if (machines.length === 0 || !isKnown) return notMeasured('not every run was monitored to its end')
  const capped = Math.max(...machines.map(({ powerCapShare }) => powerCapShare ?? 0))
  return passed(
    `no slowdown by heat or hardware in any run; at the power limit in up to ${percent(capped)} of the steady samples`,
  )
}

function checkSharing(machines: readonly MachineSummary[]): Finding {
  const nodes = nodesOf(machines)
  const shared = nodes.filter(({ foreignProcesses }) => (foreignProcesses ?? []).length > 0)
  if (shared.length > 0) {
    const list = shared.map((one) => `${titleOf(one)} (${(one.foreignProcesses ?? []).join(', ')})`)
    return failed(`other processes computed on the GPUs: ${listed(list)}. End them, and measure again`)
  }
  const isKnown = nodes.every(({ foreignProcesses }) => foreignProcesses !== null)
  return machines.length > 0 && isKnown && machines.every(({ isComplete }) => isComplete)
    ? passed('no other process on the GPUs in any run')
    : notMeasured('the processes on the GPUs cannot be seen from here')
}

function checkRelease(machines: readonly MachineSummary[]): Finding {
  const nodes = nodesOf(machines)
  const kept = nodes.filter(({ processesLeft }) => (processesLeft ?? []).length > 0)
  if (kept.length > 0)
    return failed(
      `processes stayed on the GPUs after ${listed(kept.map(titleOf))}. End them, and measure again`,
    )
  return machines.length > 0 && nodes.every(({ processesLeft }) => processesLeft !== null)
    ? passed('every run left the GPUs free')
    : notMeasured(
        nodes.some(({ processesLeft }) => processesLeft !== null)
          ? 'not every run reported it'
          : 'the processes on the GPUs cannot be seen from here',
      )
}
