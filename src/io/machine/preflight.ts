// Learns the facts of the machine before the first run; what they mean is judged in judge/machine/preflight.ts.
import { cpus, hostname, release, totalmem } from 'node:os'
import { join } from 'node:path'
import {
  type GpuFacts,
  type GpuProbe,
  type GpuProcess,
  gpuProbe,
  type Measured,
  type Preflight,
} from '../../measure/machine-record.ts'
import { localEngine } from '../engine/local.ts'
import { runShort } from '../process/short-command.ts'
import { packageRoot } from '../system/package-root.ts'
import { tryParseJson } from '../system/parse-json.ts'
import { queryGpus, queryProcesses } from './gpus.ts'
import { probeInterconnect } from './interconnect.ts'
import type { MachineContext } from './nvidia-smi.ts'
import { usedGpus, wantsNoGpu } from './visible-gpus.ts'

export interface PreflightRequest {
  /** The environment is the one that the runs get, so that CUDA_VISIBLE_DEVICES means the same. */
  readonly context: MachineContext
  /** The experiment's interpreter, with torch. */
  readonly python: string
  readonly processes: number
}

/** Which GPUs the runs will use; quick, so that they can be locked before they are probed. */
export async function findGpus({
  context,
  processes,
}: Omit<PreflightRequest, 'python'>): Promise<Measured<GpuFacts[]>> {
  const all = await queryGpus(context)
  if (all.status === 'not-measured') return all
  const visible = context.environment.CUDA_VISIBLE_DEVICES
  return wantsNoGpu(visible)
    ? { status: 'not-measured', reason: 'CUDA_VISIBLE_DEVICES hides every GPU of this machine' }
    : { ...all, value: usedGpus(all.value, visible, processes) }
}

/** All but the lock, which is another's to tell. */
export type Examined = Omit<Preflight, 'lock'>

/** Of a machine that somebody else holds, where a probe would disturb them, or that nothing is run on. */
export function unexamined(
  gpus: Measured<GpuFacts[]>,
  { processes }: PreflightRequest,
  reason: string,
): Examined {
  const unasked = { status: 'not-measured', reason } as const
  return { host: hostFacts(), processesWanted: processes, gpus, processes: unasked, probes: unasked }
}

/** Takes seconds: it loads torch and lets the GPUs work. Call it when their lock is held. */
export async function preflight(request: PreflightRequest): Promise<Examined> {
  const gpus = await findGpus(request)
  return {
    host: hostFacts(),
    processesWanted: request.processes,
    gpus,
    // Before the probe, which is a process on the GPUs itself.
    processes: gpus.status === 'measured' ? await processesOn(gpus.value, request.context) : gpus,
    probes: gpus.status === 'measured' ? await probe(gpus.value, request) : gpus,
    ...(await connected(gpus, request)),
  }
}

/** Where several GPUs work together; on the CPU there is nothing that is judged. */
async function connected(
  gpus: Measured<GpuFacts[]>,
  { context, python, processes }: PreflightRequest,
): Promise<Pick<Preflight, 'interconnect'>> {
  if (processes < 2 || gpus.status === 'not-measured' || gpus.value.length < processes) return {}
  const { environment, workingDirectory, cancelled } = context
  await using engine = localEngine({ environment, workingDirectory })
  const request = { python, processes, backend: 'nccl', port: null, cancelled } as const
  return { interconnect: await probeInterconnect(engine, request) }
}

function hostFacts(): Preflight['host'] {
  const [first] = cpus()
  return {
    name: hostname(),
    cpu: first?.model ?? 'unknown',
    cores: cpus().length,
    memoryBytes: totalmem(),
    kernel: release(),
    ...(process.env.SPEEDPROOF_RENTED === '1' ? { isRented: true } : {}),
  }
}

/** The compute processes on these GPUs. */
export async function processesOn(
  gpus: readonly GpuFacts[],
  context: MachineContext,
): Promise<Measured<GpuProcess[]>> {
  const asked = await queryProcesses(context)
  if (asked.status === 'not-measured') return asked
  const uuids = new Set(gpus.map(({ uuid }) => uuid))
  return { ...asked, value: asked.value.filter(({ gpuUuid }) => uuids.has(gpuUuid)) }
}

async function probe(
  gpus: readonly GpuFacts[],
  { context, python }: PreflightRequest,
): Promise<Measured<GpuProbe[]>> {
  if (gpus.length === 0) return { status: 'not-measured', reason: 'there is no GPU to probe' }
  const { environment, workingDirectory, cancelled } = context
  const script = join(packageRoot(), 'src', 'io', 'machine', 'probe.py')
  const command = [python, script, String(gpus.length)]
  const ended = await runShort(command, workingDirectory, environment, cancelled)
  if (ended.status === 'no-answer') return { status: 'not-measured', reason: ended.message }
  if (ended.exitCode !== 0) {
    const last = ended.stderr.trim().split('\n').at(-1) ?? ''
    return { status: 'not-measured', reason: `the probe ended with exit code ${ended.exitCode}: ${last}` }
  }
  return probesIn(ended.stdout) ?? { status: 'not-measured', reason: `the torch of "${python}" sees no GPU` }
}

/** Of what probe.py prints; null without a line of a GPU. */
export function probesIn(text: string): Extract<Measured<GpuProbe[]>, { status: 'measured' }> | null {
  const probes = text.split('\n').flatMap((line) => probeIn(line) ?? [])
  return probes.length > 0 ? { status: 'measured', value: probes } : null
}

function probeIn(line: string): GpuProbe | null {
  return gpuProbe.safeParse(tryParseJson(line)).data ?? null
}
