// The engine for one machine: launches are children of this process.
import { hostname } from 'node:os'
import { runShort } from '../process/short-command.ts'
import { supervise } from '../process/supervisor.ts'
import type { Engine, EngineRequest } from './engine.ts'

const THIS_HOST = '127.0.0.1'

export function localEngine({ workingDirectory, environment }: EngineRequest): Engine {
  const node = hostname()
  return {
    kind: 'local',
    nodes: () => [{ name: node, address: THIS_HOST }],
    async onEachNode(command, { timeoutSeconds, cancelled, environment: extra }) {
      const seen = { ...environment, ...extra }
      const ended = await runShort(command, workingDirectory, seen, cancelled, timeoutSeconds)
      return ended.status === 'ended'
        ? [{ node, status: 'answered', stdout: ended.stdout, exitCode: ended.exitCode }]
        : [{ node, status: 'unreachable', reason: ended.message }]
    },
    launch: (launch, hooks) => supervise(launch, hooks),
    lost: () => null,
    [Symbol.asyncDispose]: async () => {},
  }
}
