// What the agents of a launch have written, one file for each node.
import { constants } from 'node:os'
import { join } from 'node:path'
import { readOutput } from '../../system/read-text.ts'

export interface AgentState {
  readonly node: string
  readonly hasStarted: boolean
  /** The command is over. */
  readonly hasEnded: boolean
  /** Nothing of it is left on the node. */
  readonly isClean: boolean
  /** Why the command could not be started. */
  readonly failure: string | null
  readonly exit: { readonly exitCode: number } | { readonly signal: string } | null
  /** Why it ended before its command did. */
  readonly stopping: string | null
  /** Grows as long as the agent lives. */
  readonly bytes: number
}

/** A week of signs of life is less than one. */
const MAX_BYTES = 4 * 1024 ** 2

export async function readAgents(folder: string, nodes: readonly string[]): Promise<AgentState[]> {
  return await Promise.all(
    nodes.map(async (node) =>
      agentState(node, await readOutput(join(folder, node), MAX_BYTES).catch(() => '')),
    ),
  )
}

export function agentState(node: string, text: string): AgentState {
  // A line that is not whole yet says nothing.
  const lines = text.split('\n').slice(0, -1)
  const said = (word: string) => {
    const line = lines.find((one) => one === word || one.startsWith(`${word} `))
    return line === undefined ? null : line.slice(word.length + 1)
  }
  const [exitCode, signal] = [said('exit'), said('signal')]
  return {
    node,
    hasStarted: said('starting') !== null,
    hasEnded: said('ended') !== null,
    isClean: said('clean') !== null,
    failure: said('failed'),
    exit:
      signal === null
        ? exitCode === null
          ? null
          : { exitCode: Number(exitCode) }
        : { signal: named(signal) },
    stopping: said('stopping'),
    bytes: text.length,
  }
}

export function hasFailed({ failure, exit }: AgentState): boolean {
  return failure !== null || (exit !== null && !('exitCode' in exit && exit.exitCode === 0))
}

function named(number: string): string {
  return (
    Object.entries(constants.signals).find(([, value]) => String(value) === number)?.[0] ?? `signal ${number}`
  )
}
