// By which way NCCL moves data between GPUs: its own log lines -> the transports, and what the probe measured.
import { z } from 'zod'
import { TRANSPORTS, type Transport } from '../../config/transports.ts'

const transports = z.array(z.enum(TRANSPORTS))

export const transportsSchema = z.object({
  /** Between GPUs of one node; of one host all that was seen. */
  within: transports,
  between: transports,
})

export type Transports = z.infer<typeof transportsSchema>

const bandwidth = z.number().nonnegative().max(1e9)

export const interconnectProbe = z.object({
  /** As torch names it. Only what NCCL does is judged. */
  backend: z.string().max(40),
  bytes: z.int().nonnegative(),
  /** Of an all-reduce among the ranks of each node; empty where a node has one. */
  within: z.array(z.object({ node: z.string().max(255), gigabytesPerSecond: bandwidth })),
  /** Of an all-reduce among the ranks of two nodes; empty where there is one node. */
  between: z.array(
    z.object({ nodes: z.tuple([z.string().max(255), z.string().max(255)]), gigabytesPerSecond: bandwidth }),
  ),
  transports: transportsSchema,
})

export type InterconnectProbe = z.infer<typeof interconnectProbe>

const CHANNEL = / via (P2P|SHM|NET|COLLNET)\/?([A-Za-z][\w ]*)?/
/** Of ncclTopoPrintGraph: the link within a node, then the one to others. `NVB` is NVLink by way of another GPU. */
const GRAPH = /nChannels \d+, bw [\d.]+\/[\d.]+, type ([A-Z0-9]+)\/([A-Z0-9]+)/
const NVLINK_GRAPHS = ['NVL', 'NVB']
const NODES = / nNodes (\d+) /

/**
 * From lines of NCCL_DEBUG=INFO with the subsystems INIT and GRAPH; null without a channel. P2P says only that GPUs reach each
 * other's memory: whether over NVLink tells the graph that NCCL has found. What runs over the network of a communicator
 * on one node is within it.
 */
export function transportsIn(lines: Iterable<string>): Transports | null {
  const within = new Set<Transport>()
  const between = new Set<Transport>()
  let hasNvlink = false
  let hasPeers = false
  let isOnOneNode = true
  const network = new Set<Transport>()
  for (const line of lines) {
    const graph = GRAPH.exec(line)
    if (graph?.[1] !== undefined) hasNvlink ||= NVLINK_GRAPHS.includes(graph[1])
    const nodes = NODES.exec(line)
    if (nodes?.[1] !== undefined && Number(nodes[1]) > 1) isOnOneNode = false
    const [, kind, plugin] = CHANNEL.exec(line) ?? []
    // NVLink that reaches from node to node.
    if (kind === 'P2P' && plugin === 'MNNVL') between.add('nvlink')
    else if (kind === 'P2P') hasPeers = true
    if (kind === 'SHM') within.add('shared-memory')
    if (kind === 'NET' || kind === 'COLLNET') network.add(networkOf(plugin))
  }
  if (hasPeers) within.add(hasNvlink ? 'nvlink' : 'pcie')
  for (const one of network) (isOnOneNode ? within : between).add(one)
  return within.size + between.size === 0 ? null : { within: inOrder(within), between: inOrder(between) }
}

function networkOf(plugin = ''): Transport {
  if (/^IB/.test(plugin)) return 'infiniband'
  return /^Socket/.test(plugin) ? 'sockets' : 'other'
}

function inOrder(found: ReadonlySet<Transport>): Transport[] {
  return TRANSPORTS.filter((transport) => found.has(transport))
}

/** Of several processes. */
export function merged(all: readonly Transports[]): Transports {
  return {
    within: inOrder(new Set(all.flatMap(({ within }) => within))),
    between: inOrder(new Set(all.flatMap(({ between }) => between))),
  }
}
