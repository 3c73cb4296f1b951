// Asks every node of an engine what it is, before the first launch; what it means is judged in judge/machine/nodes.ts.
import { join } from 'node:path'
import { z } from 'zod'
import { type Measured, type NodeFacts, nodeFacts } from '../../measure/machine-record.ts'
import type { Engine, NodeAnswer } from '../engine/engine.ts'
import { packageRoot } from '../system/package-root.ts'
import { tryParseJson } from '../system/parse-json.ts'
import { probesIn } from './preflight.ts'

type Asked = Pick<Engine, 'nodes' | 'onEachNode'>
type Answered = Extract<NodeFacts, { status: 'answered' }>

export interface NodesRequest {
  /** The experiment's interpreter, with torch. */
  readonly python: string
  /** On each node. */
  readonly processes: number
  /** What the experiment names under `data:`. */
  readonly data: readonly string[]
  readonly cancelled: AbortSignal
}

export interface AskedNodes {
  readonly nodes: readonly NodeFacts[]
  /** Free on the first node when it answered. */
  readonly port: number | null
}

/** Data of terabytes is read once. */
const FACTS_SECONDS = 3600
const PROBE_SECONDS = 300

const MACHINE_FOLDER = join(packageRoot(), 'src', 'io', 'machine')

const answered = nodeFacts.options[0].omit({ status: true, node: true, probes: true })
const told = answered.extend({ freePort: z.int() })

/** Throws a CancelledError on a cancel. */
export async function askNodes(engine: Asked, request: NodesRequest): Promise<AskedNodes> {
  const { python, processes, data, cancelled } = request
  const command = [python, join(MACHINE_FOLDER, 'node_facts.py'), '--processes', `${processes}`]
  const answers = await engine.onEachNode([...command, '--data', ...data], {
    timeoutSeconds: FACTS_SECONDS,
    cancelled,
  })
  const read = answers.map((answer) => ({ answer, facts: factsIn(answer) }))
  const hasGpus = read.some(({ facts }) => facts?.gpus.status === 'measured')
  const probes = hasGpus ? await probe(engine, request) : []
  return {
    nodes: read.map(({ answer, facts }, index) =>
      facts === null
        ? { status: 'unreachable', node: answer.node, reason: reasonOf(answer) }
        : { status: 'answered', node: answer.node, ...withProbes(facts, probes[index]) },
    ),
    port: read[0]?.facts?.freePort ?? null,
  }
}

function factsIn(answer: NodeAnswer): z.infer<typeof told> | null {
  if (answer.status === 'unreachable' || answer.exitCode !== 0) return null
  const line = answer.stdout.trimEnd().split('\n').at(-1) ?? ''
  return told.safeParse(tryParseJson(line)).data ?? null
}

function reasonOf(answer: NodeAnswer): string {
  if (answer.status === 'unreachable') return answer.reason
  return answer.exitCode === 0
    ? 'node_facts.py printed no facts'
    : `node_facts.py ended with exit code ${answer.exitCode}`
}

/** The GPUs of all nodes work at the same time. */
async function probe(
  engine: Asked,
  { python, processes, cancelled }: NodesRequest,
): Promise<readonly NodeAnswer[]> {
  const command = [python, join(MACHINE_FOLDER, 'probe.py'), `${processes}`]
  return await engine.onEachNode(command, { timeoutSeconds: PROBE_SECONDS, cancelled })
}

function withProbes(
  { freePort: _, ...facts }: z.infer<typeof told>,
  answer: NodeAnswer | undefined,
): Omit<Answered, 'status' | 'node'> {
  return { ...facts, probes: facts.gpus.status === 'not-measured' ? facts.gpus : probesOf(answer) }
}

function probesOf(answer: NodeAnswer | undefined): Answered['probes'] {
  const notMeasured = (reason: string): Measured<never> => ({ status: 'not-measured', reason })
  if (answer === undefined) return notMeasured('it was not probed')
  if (answer.status === 'unreachable') return notMeasured(answer.reason)
  if (answer.exitCode !== 0) return notMeasured(`the probe ended with exit code ${answer.exitCode}`)
  return probesIn(answer.stdout) ?? notMeasured('its torch sees no GPU')
}
