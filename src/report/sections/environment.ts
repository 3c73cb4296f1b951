// On what was measured: devices, nodes and what connects them, versions, revision, time.

import type { NodeFacts, Preflight } from '../../measure/machine-record.ts'
import type { RunSummary } from '../../measure/summary.ts'
import type { Result } from '../../record/result.ts'
import { listed } from '../../text/wording.ts'
import { escapeCell } from '../escape.ts'
import { folded, type Section, table } from '../section.ts'

export const environmentSection: Section = (result) => ({
  kind: 'details',
  title: 'environment',
  markdown: folded('Environment: devices, versions, revision', environmentTable(result)),
})

function environmentTable(result: Result): string {
  const rows = environmentRows(result).map((cells) => cells.map((cell) => escapeCell(cell)))
  return table([['what', 'value'], ...rows])
}

/** Untrusted texts, as they are. */
export function environmentRows({
  runs,
  revision,
  launches,
  attempt,
  preflight,
  machineChecks,
}: Result): string[][] {
  const [run] = runs
  return [
    ['devices', run ? devicesText(run) : 'not measured'],
    ...nodeRows(preflight),
    ...machineChecks.filter(({ name }) => name === 'interconnect').map(({ name, detail }) => [name, detail]),
    ...Object.entries(run?.versions ?? {}),
    ['revision', revision ?? 'none: not in a git checkout that git reads'],
    ...(attempt === null ? [] : [['attempt of the workflow run', String(attempt)]]),
    ['measured', launches[0]?.startedAt ?? 'nothing was launched'],
  ]
}

/** A line for all nodes that are alike, or one for each kind; none on one host. */
function nodeRows(preflight: Preflight | null): [string, string][] {
  const kinds = Map.groupBy(preflight?.nodes ?? [], nodeText)
  return [...kinds].map(([text, nodes]) => [
    nodes.length === 1 ? 'node' : `${nodes.length} nodes`,
    `${listed(
      nodes.map(({ node }) => node),
      MOST_NODES,
    )}: ${text}`,
  ])
}

const MOST_NODES = 8

function nodeText(node: NodeFacts): string {
  if (node.status === 'unreachable') return `did not answer (${node.reason})`
  const { gpus, host } = node
  const devices =
    gpus.status === 'measured' ? gpus.value.map(({ name, driver }) => `${name}, driver ${driver}`) : []
  const kinds = [...Map.groupBy(devices, (kind) => kind)].map(([kind, all]) => `${all.length} x ${kind}`)
  return [...kinds, `${host.cores} x ${host.cpu}`].join('; ')
}

function devicesText({ worldSize, deviceNames }: RunSummary): string {
  if (deviceNames.length === 0) return 'not read back'
  return `${worldSize ?? deviceNames.length} x ${[...new Set(deviceNames)].join(', ')}`
}
