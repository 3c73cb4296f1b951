// What changed inside the step, from the traced launches: where its time goes, and which operators took it.
import { VARIANTS } from '../../config/experiment.ts'
import type { Profile, Profiles } from '../../measure/profile/profile.ts'
import {
  type ChangedRow,
  changeOf,
  type Explained,
  type StepChange,
  stepChange,
} from '../../measure/profile/step-change.ts'
import type { Result } from '../../record/result.ts'
import { medianOf } from '../../statistics/averages.ts'
import { bytes, number, percent, seconds, signed } from '../../text/numbers.ts'
import { escapeCell } from '../escape.ts'
import { folded, type Section, table } from '../section.ts'

export const stepChangeSection: Section = (result) => ({
  kind: 'details',
  title: 'what changed inside the step',
  markdown: markdownOf(result),
})

function markdownOf(result: Result): string {
  const { profiles } = result
  if (profiles === null) return ''
  const change = stepChange(profiles)
  const problems = VARIANTS.flatMap((variant) =>
    profiles[variant].problems.map((problem) => `- ${variant}: ${escapeCell(problem)}`),
  )
  const parts = [
    ...(change === null ? ['No step of both variants could be traced.'] : changeParts(change, result)),
    ...memoryParts(profiles),
    ...(problems.length > 0 ? [problems.join('\n')] : []),
  ]
  return folded(titleOf(change), parts.join('\n\n'))
}

/** The largest change stands in the title: many look no further. */
function titleOf(change: StepChange | null): string {
  const first = change?.operators.rows[0] ?? change?.kernels.rows[0]
  return first === undefined
    ? 'What changed inside the step'
    : `What changed inside the step: most of all ${escapeCell(first.name)}, ${changeText(first)}`
}

function changeParts(change: StepChange, result: Result): string[] {
  const { baseline, optimized } = change.stepMilliseconds
  return [
    `A traced step takes ${milliseconds(baseline)} in the baseline and ${milliseconds(optimized)} in the optimized training. ${tracingCost(change, result)} The times below are of the traced steps, and decide nothing.`,
    table([['where the time goes', 'baseline', 'optimized', 'change'], ...change.kinds.map(kindRow)]),
    ...rowsPart('operator', change.operators),
    ...rowsPart('kernel', change.kernels),
  ]
}

/** Empty where no run has steps without a trace. */
export function tracingCost({ stepMilliseconds }: StepChange, { runs }: Result): string {
  const costs = VARIANTS.flatMap((variant) => {
    const steps = runs.filter((run) => run.variant === variant && run.purpose === 'measured')
    const untraced = medianOf(steps.map(({ medianStepSeconds }) => medianStepSeconds))
    return untraced > 0
      ? [
          `${variant} ${seconds(untraced)} (tracing: ${signed((stepMilliseconds[variant] / 1e3 / untraced - 1) * 100, 2)}%)`,
        ]
      : []
  })
  return costs.length === 0 ? '' : `Without a trace: ${costs.join(', ')}.`
}

function kindRow(row: ChangedRow): string[] {
  return [
    escapeCell(row.name),
    milliseconds(row.milliseconds.baseline),
    milliseconds(row.milliseconds.optimized),
    signedMilliseconds(changeOf(row)),
  ]
}

function rowsPart(what: 'operator' | 'kernel', { rows, share, rowsLeft }: Explained): string[] {
  if (share === null) return []
  const left = rowsLeft > 0 ? ` The rest is in ${rowsLeft} others.` : ''
  return [
    table([
      [what, 'baseline', 'optimized', 'change', 'launches'],
      ...rows.map((row) => [
        escapeCell(row.name, 120),
        ...kindRow(row).slice(1),
        `${number(row.launches.baseline)} to ${number(row.launches.optimized)}`,
      ]),
    ]),
    `These ${what}s have ${percent(share)} of all that became longer or shorter.${left}`,
  ]
}

function memoryParts({ baseline, optimized }: NonNullable<Profiles>): string[] {
  const parts = (
    [
      ['baseline', baseline],
      ['optimized', optimized],
    ] as const
  ).flatMap(([variant, { memory }]) => (memory ? [memoryPart(variant, memory)] : []))
  return parts
}

function memoryPart(
  variant: string,
  { peak_bytes, categories, largest }: NonNullable<Profile['memory']>,
): string {
  const shares = Object.entries(categories).map(([name, value]) => `${escapeCell(name)} ${bytes(value)}`)
  const head = `Peak of memory in a traced step, ${variant}: ${bytes(peak_bytes)} (${shares.join(', ')}). The largest blocks:`
  return [head, '', ...largest.map(({ bytes: size, where }) => `- ${bytes(size)} ${escapeCell(where)}`)].join(
    '\n',
  )
}

function changeText(row: ChangedRow): string {
  return `${milliseconds(row.milliseconds.baseline)} to ${milliseconds(row.milliseconds.optimized)}`
}

export function milliseconds(value: number): string {
  return `${number(value, 3)} ms`
}

export function signedMilliseconds(value: number): string {
  return value === 0 ? '0 ms' : `${signed(value)} ms`
}
