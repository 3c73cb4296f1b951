// Questions about a metric that several stages ask.
import { metricNamed } from './families.ts'

/** Measured on the held-out split, the time that this took included. */
export function isHeldOutMetric(metric: string): boolean {
  return metricNamed(metric).from === 'evaluation'
}

export function isTimeMetric(metric: string): boolean {
  return metricNamed(metric).kind === 'time'
}

/** Nobody can measure it of a training on the CPU. */
export function needsGpu(metric: string): boolean {
  return metricNamed(metric).needs.gpu !== undefined
}

/** What a trainer need not report, and a machine may not have; null where every run has it. */
export function needsText(metric: string): string | null {
  const { gpu, report } = metricNamed(metric).needs
  const needed = [...(gpu === undefined ? [] : [GPU[gpu]]), ...(report === undefined ? [] : [report])]
  return needed.length === 0 ? null : needed.join(', and ')
}

const GPU = { any: 'a GPU', NVIDIA: 'an NVIDIA GPU' } as const
