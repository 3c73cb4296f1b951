// What carries out the launches of one experiment: this host, or the nodes of an allocation.
import type { LaunchEnd } from '../../measure/outcome.ts'
import type { Launch, LaunchHooks } from '../process/supervisor.ts'

export interface Node {
  /** As the engine names it; this host's name for the local engine. */
  readonly name: string
  /** Where the other nodes reach it: an address or a name that resolves. */
  readonly address: string
}

export type NodeAnswer = { readonly node: string } & (
  | { readonly status: 'answered'; readonly stdout: string; readonly exitCode: number }
  | { readonly status: 'unreachable'; readonly reason: string }
)

export interface EachNodeRequest {
  readonly timeoutSeconds: number
  readonly cancelled: AbortSignal
  /** In addition to the trainer's environment. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Given back when it is disposed of. */
export interface Engine extends AsyncDisposable {
  readonly kind: 'local' | 'slurm'
  /** Those that launches run on; the first one has rank 0, which writes the metrics. */
  nodes(): readonly Node[]
  /**
   * Runs a short command once on each node, all at the same time, in the working directory and with the environment of
   * the trainer. The answers are in the order of `nodes()`. Throws a CancelledError on a cancel.
   */
  onEachNode(command: readonly string[], request: EachNodeRequest): Promise<readonly NodeAnswer[]>
  /** Rejects with a RunError for a process that is left, or may be. */
  launch(launch: EngineLaunch, hooks: LaunchHooks): Promise<LaunchEnd>
  /** Why nothing more can be launched here, such as an allocation that has ended; null while it can. */
  lost(): string | null
}

export interface EngineLaunch extends Launch {
  /** Where each node's agent leaves what it has seen; in the run's folder. */
  readonly directory: string
  /** On every node, or on the first one alone. */
  readonly on: 'all' | 'first'
}

export interface EngineRequest {
  readonly workingDirectory: string
  /** Of the trainer, from the allow-list. */
  readonly environment: Readonly<Record<string, string>>
}
