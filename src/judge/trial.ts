// What one launch of each variant shows, before anything is measured: all that would make a verdict impossible.
import { gatesOf } from '../config/experiment.ts'
import type { Gate } from '../config/gates/gates.ts'
import type { RunSummary } from '../measure/summary.ts'
import { metricNamed } from '../metrics/families.ts'
import { FACT_NAMES, FACTS, type Facts, worstFacts } from '../read/facts.ts'
import { listed } from '../text/wording.ts'
import type { Check } from './checks/check.ts'
import { warmUpProblems } from './checks/work/warm-ups.ts'
import { whyOpenByFacts } from './gates/gate-facts.ts'
import type { VerdictInput } from './verdict-input.ts'

export interface Trial {
  /** Each ends an experiment, or leaves a required gate open however many launches follow. */
  readonly problems: readonly string[]
  /** Facts of these runs that are unknown, in plain words. */
  readonly unknown: readonly string[]
}

/** `checks`: of the verdict on the same runs. */
export function judgeTrial(
  input: Pick<VerdictInput, 'experiment' | 'configs' | 'runs'>,
  checks: readonly Check[],
): Trial {
  const ofWork = warmUpProblems(input)
  const facts = worstFacts(input.runs.map((run) => run.facts))
  return {
    problems: [
      ...Object.values(ofWork).flat(),
      ...checks.flatMap(({ name, status, detail }) =>
        status === 'failed' && name !== 'completion' && !ofWork[name]?.length ? [`${name}: ${detail}`] : [],
      ),
      ...(facts === null ? [] : openGates(input, facts)),
    ],
    unknown:
      facts === null ? [] : FACTS.filter((fact) => facts[fact] === 'unknown').map((fact) => FACT_NAMES[fact]),
  }
}

function openGates({ experiment, runs }: Pick<VerdictInput, 'experiment' | 'runs'>, facts: Facts): string[] {
  return gatesOf(experiment)
    .filter(({ severity }) => severity === 'required')
    .flatMap((gate) => {
      const why = whyUnreported(gate, runs) ?? whyOpenByFacts(gate, facts)
      return why === null ? [] : [`gate ${gate.name} would stay open: ${why}`]
    })
}

/** Other numbers need runs of full length. */
function whyUnreported({ metric, ifReported }: Gate, runs: readonly RunSummary[]): string | null {
  if (metricNamed(metric).from !== 'evaluation') return null
  const without = runs.filter(
    ({ metrics, notFinite }) => metrics[metric] === undefined && !notFinite.includes(metric),
  )
  if (without.length === 0 || (ifReported && without.length === runs.length)) return null
  return `${listed(without.map(({ runId }) => runId))} ${without.length === 1 ? 'has' : 'have'} no ${metric}. Report it, or remove the gate`
}
