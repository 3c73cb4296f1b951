// Short commands on the nodes of an allocation: one srun for each, so that a node that is gone is alone in it.
import { type AgentPlace, stepCommand } from '../../../plan/slurm.ts'
import { runShort } from '../../process/short-command.ts'
import type { EachNodeRequest, NodeAnswer } from '../engine.ts'
import { lastErrorIn, slurmEnvironment } from './commands.ts'

export interface StepsOn {
  readonly jobId: string
  readonly place: AgentPlace
  /** Of the trainer. */
  readonly environment: Readonly<Record<string, string>>
}

/** For srun to begin a step, beside the time of the command itself. */
const START_SECONDS = 30

export async function answersOf(
  nodes: readonly string[],
  words: readonly string[],
  { jobId, place, environment }: StepsOn,
  { timeoutSeconds, cancelled, environment: extra = {} }: EachNodeRequest,
): Promise<NodeAnswer[]> {
  const seen = { ...environment, ...extra }
  return await Promise.all(
    nodes.map(async (node) => {
      const names = Object.keys(seen)
      const command = stepCommand({ ...place, jobId, nodes: [node], names }, words)
      const all = { ...slurmEnvironment(process.env), ...seen }
      const ended = await runShort(command, '/', all, cancelled, timeoutSeconds + START_SECONDS)
      if (ended.status === 'no-answer') return { node, status: 'unreachable', reason: ended.message }
      return (
        answerIn(node, ended.stdout) ?? {
          node,
          status: 'unreachable',
          reason: lastErrorIn(ended.stderr) ?? `srun ended with exit code ${ended.exitCode}`,
        }
      )
    }),
  )
}

/** The agent's last line tells the exit code of the command; without it, srun's own tells nothing. */
function answerIn(node: string, stdout: string): NodeAnswer | null {
  const found = /^([\s\S]*)\nspeedproof-answer (\d+)\n?$/.exec(stdout)
  return found === null
    ? null
    : { node, status: 'answered', stdout: found[1] ?? '', exitCode: Number(found[2]) }
}
