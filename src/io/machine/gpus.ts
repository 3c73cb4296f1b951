// The GPUs of this machine and what they are doing, as nvidia-smi tells it.
import type { GpuFacts, GpuProcess, Measured } from '../../measure/machine-record.ts'
import { type MachineContext, numberOf, querySmi, type SmiRow, textOf } from './nvidia-smi.ts'

const FACT_FIELDS = [
  'index',
  'uuid',
  'name',
  'driver_version',
  'vbios_version',
  'memory.total',
  'memory.used',
  // The first is for GPUs before the A100, the second for those since.
  'retired_pages.pending',
  'remapped_rows.pending',
  'ecc.mode.current',
  'persistence_mode',
  'mig.mode.current',
  'power.limit',
  'clocks.max.sm',
]

const BYTES_PER_MEBIBYTE = 2 ** 20

/** Every GPU that nvidia-smi lists, in its order. */
export async function queryGpus(context: MachineContext): Promise<Measured<GpuFacts[]>> {
  const answer = await querySmi('gpu', FACT_FIELDS, context)
  if (answer.status === 'not-available') return { status: 'not-measured', reason: answer.reason }
  const gpus = answer.rows.flatMap((row) => factsOf(row) ?? [])
  return gpus.length > 0
    ? { status: 'measured', value: gpus, ...warningOf(answer) }
    : { status: 'not-measured', reason: 'nvidia-smi lists no GPU' }
}

/** The compute processes of all GPUs. In a container the list may be empty or count in the host's numbers. */
export async function queryProcesses(context: MachineContext): Promise<Measured<GpuProcess[]>> {
  const answer = await querySmi('compute-apps', ['gpu_uuid', 'pid'], context)
  if (answer.status === 'not-available') return { status: 'not-measured', reason: answer.reason }
  return {
    status: 'measured',
    value: answer.rows.flatMap((row) => processOf(row) ?? []),
    ...warningOf(answer),
  }
}

function warningOf({ warning }: { readonly warning: string | null }): { warning?: string } {
  return warning === null ? {} : { warning }
}

/** What must not change between two runs. Memory in use and temperatures do. */
export function fingerprint(gpus: readonly GpuFacts[]): string | null {
  if (gpus.length === 0) return null
  return gpus
    .map((gpu) =>
      [gpu.uuid, gpu.name, gpu.driver, gpu.vbios, gpu.eccMode, gpu.persistenceMode, gpu.migMode]
        .concat([`${gpu.powerLimitWatts} W`, `${gpu.maxSmClockMhz} MHz`])
        .join(' '),
    )
    .join('; ')
}

function factsOf(row: SmiRow): GpuFacts | null {
  const [index, uuid, name] = [numberOf(row, 'index'), textOf(row, 'uuid'), textOf(row, 'name')]
  const driver = textOf(row, 'driver_version')
  if (index === null || uuid === null || name === null || driver === null) return null
  return {
    index,
    uuid,
    name,
    driver,
    vbios: textOf(row, 'vbios_version'),
    memoryTotalBytes: bytesOf(row, 'memory.total'),
    memoryUsedBytes: bytesOf(row, 'memory.used'),
    hasPendingEccErrors: pendingErrors(row),
    eccMode: textOf(row, 'ecc.mode.current'),
    persistenceMode: textOf(row, 'persistence_mode'),
    migMode: textOf(row, 'mig.mode.current'),
    powerLimitWatts: numberOf(row, 'power.limit'),
    maxSmClockMhz: numberOf(row, 'clocks.max.sm'),
  }
}

function pendingErrors(row: SmiRow): boolean | null {
  const told = ['retired_pages.pending', 'remapped_rows.pending'].map((field) => textOf(row, field))
  if (told.every((value) => value === null)) return null
  return told.includes('Yes')
}

/** nvidia-smi prints memory in MiB. */
export function bytesOf(row: SmiRow, field: string): number | null {
  const mebibytes = numberOf(row, field)
  return mebibytes === null ? null : mebibytes * BYTES_PER_MEBIBYTE
}

function processOf(row: SmiRow): GpuProcess | null {
  const [gpuUuid, pid] = [textOf(row, 'gpu_uuid'), numberOf(row, 'pid')]
  return gpuUuid === null || pid === null ? null : { gpuUuid, pid }
}
