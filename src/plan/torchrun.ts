// The command lines of a plan: torchrun for one run, and the evaluation of several runs' final checkpoints.
import type { Experiment } from '../config/experiment.ts'
import type { PlannedRun } from './plan.ts'

/** In a run's folder: the trainer's own, which it gets as --out, so that it cannot overwrite Speedproof's files. */
export const TRAINER_FOLDER = 'trainer'

/** Else torchrun looks up the host's own name, and waits for ever where that does not resolve. */
const THIS_HOST = '127.0.0.1'

/** The files of one run. */
export interface RunFiles {
  readonly directory: string
  /** The trainer's config, in the format that it reads; null for a trainer without one. */
  readonly configFile: string | null
  /** Empty before the run. */
  readonly outDirectory: string
  /** Where torchrun puts the error file of each rank. */
  readonly errorDirectory: string
  readonly logFile: string
  readonly machineFile: string
  /** Of a traced launch: its traces and their summary. */
  readonly profileDirectory: string
}

/** `python -m torch.distributed.run` is what `torchrun` is; this way it is the torch of the named interpreter. */
export function torchrunCommand(
  experiment: Experiment,
  run: PlannedRun,
  files: RunFiles,
  python = experiment.launch.python,
): string[] {
  return [
    python,
    '-m',
    'torch.distributed.run',
    ...rendezvous(experiment, run),
    '--nproc-per-node',
    String(experiment.launch.nproc_per_node),
    '--log-dir',
    files.errorDirectory,
    ...entry(experiment),
    ...(files.configFile === null ? [] : ['--config', files.configFile]),
    '--out',
    files.outDirectory,
    '--seed',
    String(run.seed),
  ]
}

/** How the trainer itself is named to Python, with its first argument if it has one. */
export function entry({ trainer }: Experiment, command = trainer.command): string[] {
  const program = trainer.script === undefined ? ['-m', trainer.module ?? ''] : [trainer.script]
  return command === undefined ? program : [...program, command]
}

/** True where torchrun is started on one node alone, with an address that we give it. */
export function isShortForm({ command, nodes }: Experiment['launch']): boolean {
  return command === undefined && nodes === 1
}

/** Words that the agent of each node replaces: they are known there alone. */
export const NODE_RANK = '{node_rank}'
export const ENDPOINT = '{rdzv_endpoint}'

function rendezvous({ name, launch }: Experiment, run: PlannedRun): string[] {
  if (launch.nodes === 1) return ['--standalone', '--local-addr', THIS_HOST]
  return [
    '--nnodes',
    String(launch.nodes),
    // c10d would choose the ranks itself; rank 0, which writes the metrics, has to be on the first node.
    '--node-rank',
    NODE_RANK,
    '--rdzv-backend',
    'static',
    '--rdzv-endpoint',
    ENDPOINT,
    // Every run meets under its own name, so that a late node of one run cannot join the next.
    '--rdzv-id',
    `${name}-${run.id}`,
  ]
}

/** One call for all: no training code runs in it, and both variants meet the same evaluation. */
export function evaluateCommand(
  python: string,
  experiment: Experiment,
  command: string,
  numbersFile: string,
  runFolders: readonly string[],
): string[] {
  return [python, ...entry(experiment, command), '--out', numbersFile, '--run', ...runFolders]
}
