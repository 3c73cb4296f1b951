// A limit too wide to detect a bad model does not suffice alone: a ratio gate that detects one has to pass too.
import { type Gate, KNOWN_GATES } from '../../config/gates/gates.ts'
import { metricNamed } from '../../metrics/families.ts'
import { comparesQuality, isMoreBetter } from './gate-kind.ts'
import { type GateVerdict, WIDEST_SHARE } from './gate-verdict.ts'

/** Such a gate passes only if a ratio gate of the same metric passes; else it is inconclusive. */
export function downgradeInsensitiveGates<Judged extends GateVerdict>(gates: readonly Judged[]): Judged[] {
  return gates.map((verdict) => {
    if (!verdict.insensitive || verdict.status !== 'passed') return verdict
    const ratioGates = gates.filter(({ gate }) => compensatesFor(gate, verdict.gate))
    if (ratioGates.some(({ status }) => status === 'passed')) return verdict
    const isByEstimate = gates.some(({ gate }) =>
      compensatesFor({ ...gate, evidence: 'interval' }, verdict.gate),
    )
    const terms = isByEstimate
      ? ', and by its interval instead of its estimate alone'
      : requirementsText(verdict.gate)
    const wanted = `${kindText(verdict.gate)} has to pass as well${ratioGates.length > 0 ? '' : terms}`
    return {
      ...verdict,
      status: 'inconclusive',
      reason: `${verdict.reason}, but the limit is over 10% of the baseline's ${verdict.gate.metric}: ${wanted}`,
    }
  })
}

/** As severe and as well proven as what it stands in for, of the same number, and with a limit that is not too wide itself. */
function compensatesFor(ratio: Gate, insensitive: Gate): boolean {
  return (
    ratio.statistic === 'ratio' &&
    comparesQuality(ratio) &&
    SEVERITY[ratio.severity] >= SEVERITY[insensitive.severity] &&
    (ratio.evidence === 'interval' || insensitive.evidence === 'point') &&
    isOfSame(ratio.metric, insensitive.metric) &&
    isMoreBetter(ratio) === isMoreBetter(insensitive) &&
    (isMoreBetter(ratio) ? ratio.limit >= 1 - WIDEST_SHARE : ratio.limit <= 1 + WIDEST_SHARE)
  )
}

const SEVERITY: Readonly<Record<Gate['severity'], number>> = { info: 0, warn: 1, required: 2 }

/** A loss is in the units of its targets, squared or not, and the NRMSE is its ratio to them. */
function isOfSame(ratio: string, insensitive: string): boolean {
  return ratio === insensitive || metricNamed(ratio).relativeOf === insensitive
}

function kindText({ metric }: Gate): string {
  const relative = KNOWN_GATES.find(
    (gate) => gate.statistic === 'ratio' && metricNamed(gate.metric).relativeOf === metric,
  )
  return relative ? `a ratio gate (such as ${relative.name})` : `a ratio gate of ${metric}`
}

function requirementsText(insensitive: Gate): string {
  const limit = isMoreBetter(insensitive) ? `at least ${1 - WIDEST_SHARE}x` : `at most ${1 + WIDEST_SHARE}x`
  return `, with a limit of ${limit}${insensitive.severity === 'required' ? ' and severity: required' : ''}`
}
