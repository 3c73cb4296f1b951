// The command lines of engine: slurm: the batch job that is the allocation, and the job step that is a launch.
import type { Experiment } from '../config/experiment.ts'
import type { RunFiles } from './torchrun.ts'

/** Where the agent is, and who runs it. */
export interface AgentPlace {
  /** Python 3.10 or newer, seen by every node. */
  readonly python: string
  readonly agent: string
  readonly workingDirectory: string
  readonly gpusPerNode: number
  /** On each node, one per GPU: its other GPUs are not watched. */
  readonly processes: number
  readonly leaseFile: string
}

/** After so many seconds without a renewal, nobody needs the nodes any more. */
export const LEASE_SECONDS = 60

/** What srun and sbatch hand over of the environment: nothing but these names. */
export function allocationCommand(
  { name, launch }: Experiment,
  { python, agent, workingDirectory, gpusPerNode, leaseFile }: AgentPlace,
  logFile: string,
): string[] {
  const { partition, account, time_minutes: minutes, options = [] } = launch.slurm ?? {}
  return [
    'sbatch',
    '--parsable',
    `--job-name=speedproof-${name}`,
    `--nodes=${launch.nodes}`,
    '--ntasks-per-node=1',
    '--exclusive',
    '--mem=0',
    ...gpuOption(gpusPerNode),
    ...(partition === undefined ? [] : [`--partition=${partition}`]),
    ...(account === undefined ? [] : [`--account=${account}`]),
    ...(minutes === undefined ? [] : [`--time=${minutes}`]),
    // A job that Slurm starts again would measure for nobody.
    '--no-requeue',
    '--export=PATH,HOME,LD_LIBRARY_PATH',
    `--chdir=${workingDirectory}`,
    `--output=${logFile}`,
    ...options,
    `--wrap=exec ${[python, '-I', '-S', agent, 'hold', leaseFile, String(LEASE_SECONDS)].map(quoted).join(' ')}`,
  ]
}

export interface StepPlace extends AgentPlace {
  readonly jobId: string
  /** Those that the step runs on; the first one has rank 0. */
  readonly nodes: readonly string[]
  readonly names: readonly string[]
}

/** One task on each node, which is not bound to a part of it. */
export function stepCommand(
  { jobId, nodes, names, gpusPerNode, workingDirectory, python, agent }: Omit<StepPlace, 'leaseFile'>,
  words: readonly string[],
): string[] {
  return [
    'srun',
    `--jobid=${jobId}`,
    `--nodelist=${nodes.join(',')}`,
    `--nodes=${nodes.length}`,
    `--ntasks=${nodes.length}`,
    '--ntasks-per-node=1',
    // What an earlier step has not yet given back, and the batch job's own part, are there to be used.
    '--overlap',
    '--mem=0',
    '--cpu-bind=none',
    ...gpuOption(gpusPerNode),
    '--kill-on-bad-exit=0',
    '--wait=0',
    '--input=none',
    `--export=${names.length === 0 ? 'NONE' : names.join(',')}`,
    `--chdir=${workingDirectory}`,
    ...[python, '-I', '-S', agent],
    ...words,
  ]
}

export interface AgentWords {
  /** Each node's agent writes its file there. */
  readonly folder: string
  readonly marker: string
  readonly machineFile: string
  /** Where the first node is reached. */
  readonly address: string
}

export function launchWords(
  { folder, marker, machineFile, address }: AgentWords,
  { leaseFile, names, nodes, processes }: Pick<StepPlace, 'leaseFile' | 'names' | 'nodes' | 'processes'>,
  command: readonly string[],
): string[] {
  return [
    'launch',
    ...['--folder', folder],
    ...['--lease', leaseFile],
    ...['--lease-seconds', String(LEASE_SECONDS)],
    ...['--marker', marker],
    ...['--nodes', nodes.join(',')],
    ...['--address', address],
    ...['--machine', machineFile],
    ...['--processes', String(processes)],
    ...['--keep', names.join(',')],
    '--',
    ...command,
  ]
}

/** As `plan` shows them: what only the allocation will tell stands in capitals. */
export function slurmCommands(
  experiment: Experiment,
  command: readonly string[],
  { files, folder, agent }: { readonly files: RunFiles; readonly folder: string; readonly agent: string },
  isFirst: boolean,
): string[][] {
  const { launch } = experiment
  const gpusPerNode = launch.slurm?.gpus_per_node ?? 0
  const leaseFile = `${folder}/lease`
  const processes = launch.nproc_per_node
  const place = { python: launch.python, agent, workingDirectory: '.', gpusPerNode, processes, leaseFile }
  const names = ['NAMES']
  const words = {
    folder: `${files.directory}/agents`,
    marker: 'MARKER',
    machineFile: files.machineFile,
    address: 'ITS_ADDRESS',
  }
  const others = Array.from({ length: launch.nodes - 1 }, (_, index) => `NODE_${index + 2}`)
  const nodes = ['FIRST_NODE', ...others]
  const step = stepCommand(
    { ...place, jobId: 'JOB', nodes, names },
    launchWords(words, { leaseFile, names, nodes, processes }, command),
  )
  return isFirst ? [allocationCommand(experiment, place, `${folder}/job.txt`), step] : [step]
}

function gpuOption(gpusPerNode: number): string[] {
  return gpusPerNode === 0 ? [] : [`--gpus-per-node=${gpusPerNode}`]
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
