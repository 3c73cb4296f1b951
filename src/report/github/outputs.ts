// A result -> the action's outputs that come from the verdict; full precision, '' for what was not measured.
import { KNOWN_GATES } from '../../config/gates/gates.ts'
import { metricNamed } from '../../metrics/families.ts'
import type { Result } from '../../record/result.ts'
import { oneLine } from '../escape.ts'

export function verdictOutputs({ verdict }: Result): Record<string, string> {
  const ofGates = KNOWN_GATES.flatMap(({ name, metric, output, statistic }) => {
    if (output === undefined) return []
    const evidence = verdict.gates.find(({ gate }) => gate.name === name)?.evidence
    const isMoreBetter = statistic === 'speedup' || metricNamed(metric).better === 'more'
    const bound = isMoreBetter ? 'lower' : 'upper'
    return [
      [output, text(evidence?.estimate)],
      [`${output}-${bound}-bound`, text(evidence?.bounds?.[bound])],
    ]
  })
  return { verdict: verdict.verdict, reason: oneLine(verdict.reason), ...Object.fromEntries(ofGates) }
}

function text(value: number | undefined): string {
  return value === undefined ? '' : String(value)
}
