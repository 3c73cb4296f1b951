// A verdict that rests on facts which the training did not report itself says so, in one line.
import type { RunSummary } from '../../measure/summary.ts'
import { FACT_NAMES, FACTS, type Fact, type Facts, provenanceText, worstFacts } from '../../read/facts.ts'
import { factsOf } from '../gates/gate-facts.ts'
import type { Warning } from './warning.ts'

export const factWarnings: Warning<'measured' | 'gates'> = ({ measured, gates }) => {
  const facts = worstFacts(measured.map((run) => run.facts))
  if (facts === null) return []
  // A training without a GPU has no such peak; a gate of it says itself that it is not measured.
  const others = FACTS.filter((fact) => facts[fact] !== 'reported' && fact !== 'memory')
  if (others.length === 0) return includedWarnings(measured)
  const rests = new Set(
    gates.filter(({ gate }) => gate.severity !== 'info').flatMap(({ gate }) => factsOf(gate)),
  )
  const decisive = others.filter((fact) => rests.has(fact) && facts[fact] !== 'unknown')
  const rest = others.filter((fact) => !decisive.includes(fact))
  const texts = [
    ...(decisive.length > 0
      ? [`the gates rest on what the training did not report itself: ${textOf(decisive, facts)}`]
      : []),
    ...(rest.length > 0
      ? [`${decisive.length > 0 ? 'also ' : ''}not reported by the training: ${textOf(rest, facts)}`]
      : []),
  ]
  return [texts.join('; '), ...includedWarnings(measured)]
}

function textOf(facts: readonly Fact[], provenances: Facts): string {
  const texts = facts.map((fact) => `${FACT_NAMES[fact]} (${provenanceText(fact, provenances[fact])})`)
  return texts.join(', ')
}

function includedWarnings(measured: readonly RunSummary[]): string[] {
  const included = [...new Set(measured.flatMap(({ stepsInclude }) => stepsInclude))]
  return included.length === 0
    ? []
    : [
        `step seconds include ${included.join(' and ')} time, since not all runs say in which steps, or say it after other samples. Time steps without them`,
      ]
}
