// Times the interconnect before the first launch, by interconnect.py on every node.
import { join } from 'node:path'
import { z } from 'zod'
import {
  type InterconnectProbe,
  interconnectProbe,
  transportsIn,
} from '../../measure/machine/interconnect.ts'
import type { Measured } from '../../measure/machine-record.ts'
import type { Engine } from '../engine/engine.ts'
import { packageRoot } from '../system/package-root.ts'
import { tryParseJson } from '../system/parse-json.ts'
import { plainText } from '../system/sanitize.ts'

export interface InterconnectRequest {
  /** The experiment's interpreter, with torch. */
  readonly python: string
  /** On each node. */
  readonly processes: number
  readonly backend: 'nccl' | 'gloo'
  /** Free on the first node; only several nodes need one. */
  readonly port: number | null
  readonly cancelled: AbortSignal
}

/** torch may come from a cold disk, and communicators of many nodes take their time. */
const LIMIT_SECONDS = 300

const report = interconnectProbe.omit({ transports: true }).extend({ log: z.array(z.string().max(1000)) })

/** Throws a CancelledError on a cancel. */
export async function probeInterconnect(
  engine: Pick<Engine, 'nodes' | 'onEachNode'>,
  { python, processes, backend, port, cancelled }: InterconnectRequest,
): Promise<Measured<InterconnectProbe>> {
  const nodes = engine.nodes()
  const [first] = nodes
  if (first === undefined || nodes.length * processes < 2)
    return { status: 'not-measured', reason: 'one process talks to nobody' }
  const script = join(packageRoot(), 'src', 'io', 'machine', 'interconnect.py')
  const meeting = nodes.length > 1 && port !== null ? ['--address', first.address, '--port', `${port}`] : []
  const names = nodes.map(({ name }) => name)
  const size = ['--nodes', ...names, '--ranks', `${processes}`, '--backend', backend]
  const answers = await engine.onEachNode([python, script, ...size, ...meeting], {
    timeoutSeconds: LIMIT_SECONDS,
    cancelled,
  })
  const lost = answers.find((answer) => answer.status === 'unreachable')
  if (lost?.status === 'unreachable')
    return { status: 'not-measured', reason: `${lost.node} did not answer: ${lost.reason}` }
  const failed = answers.find((answer) => answer.status === 'answered' && answer.exitCode !== 0)
  if (failed?.status === 'answered')
    return {
      status: 'not-measured',
      reason: `the probe ended with exit code ${failed.exitCode} on ${failed.node}${saidText(failed.stdout)}`,
    }
  const [told] = answers
  const read = report.safeParse(tryParseJson(told?.status === 'answered' ? lastLine(told.stdout) : ''))
  if (!read.success) return { status: 'not-measured', reason: 'the probe printed no numbers' }
  const { log, ...numbers } = read.data
  const transports = transportsIn(log) ?? { within: [], between: [] }
  return { status: 'measured', value: { ...numbers, transports } }
}

/** A program of ours prints it, and torch beside it. */
function saidText(text: string): string {
  const said = plainText(lastLine(text)).slice(0, 200)
  return said === '' ? '' : `: ${said}`
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? ''
}
