// Which of a machine's GPUs the processes of a run use: CUDA_VISIBLE_DEVICES, as CUDA reads it.
import type { GpuFacts } from '../../measure/machine-record.ts'

/**
 * Local rank r takes the r-th visible GPU. The variable is absent, or a list of numbers or of UUIDs and their
 * unique beginnings; what follows an entry that names no GPU is invisible too, so '' and '-1' mean none.
 *
 * Numbers are taken in the order of the bus, as nvidia-smi counts. CUDA's own order is the fastest first, which
 * is the same where all are of one kind, and a machine with two kinds does not pass the pre-flight anyway.
 */
export function usedGpus(
  all: readonly GpuFacts[],
  visibleDevices: string | undefined,
  processes: number,
): GpuFacts[] {
  return visibleGpus(all, visibleDevices).slice(0, processes)
}

/** CUDA_VISIBLE_DEVICES of a process that may use the GPUs of the runs, and none that is not locked. */
export function devicesOfRuns(visibleDevices: string | undefined, processes: number): string {
  const visible = visibleDevices?.split(',') ?? Array.from({ length: processes }, (_, index) => `${index}`)
  return visible.slice(0, processes).join(',')
}

/** The two usual ways to train on the CPU; any other list names GPUs that it wants. */
export function wantsNoGpu(visibleDevices: string | undefined): boolean {
  return visibleDevices?.trim() === '' || visibleDevices?.trim() === '-1'
}

function visibleGpus(all: readonly GpuFacts[], visibleDevices: string | undefined): readonly GpuFacts[] {
  if (visibleDevices === undefined) return all
  const visible: GpuFacts[] = []
  for (const entry of visibleDevices.split(',')) {
    const gpu = find(all, entry.trim())
    if (gpu === undefined) break
    visible.push(gpu)
  }
  return visible
}

function find(all: readonly GpuFacts[], entry: string): GpuFacts | undefined {
  if (/^\d+$/.test(entry)) return all.find(({ index }) => index === Number(entry))
  const matching = entry.startsWith('GPU-') ? all.filter(({ uuid }) => uuid.startsWith(entry)) : []
  return matching.length === 1 ? matching[0] : undefined
}
