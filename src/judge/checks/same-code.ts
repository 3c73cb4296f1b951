// Did the trainer's code stay the same from the first launch to the last?
import { VARIANTS } from '../../config/experiment.ts'
import { comparesRevisions } from '../../config/revisions/revision-rules.ts'
import type { RunSummary } from '../../measure/summary.ts'
import type { VerdictInput } from '../verdict-input.ts'
import type { Check } from './check.ts'

/** Two revisions are two trainers, each of which stays as it is; otherwise both variants share one. */
export function checkCode({
  experiment,
  measured: runs,
}: Pick<VerdictInput, 'experiment' | 'measured'>): Check {
  const name = 'same code'
  const groups = comparesRevisions(experiment)
    ? VARIANTS.map((variant) => runs.filter((run) => run.variant === variant))
    : [runs]
  const problems = groups.flatMap((group) => firstChange(group) ?? [])
  if (problems.length > 0) return { name, status: 'failed', detail: problems.join('; ') }
  return runs.some(({ code }) => code === null)
    ? {
        name,
        status: 'not-measured',
        detail: 'the trainer is outside the working directory, or was not checked',
      }
    : { name, status: 'passed', detail: "the trainer's sources are the same before and after every run" }
}

function firstChange(runs: readonly RunSummary[]): string | null {
  const seen = runs.flatMap(({ runId, code }) =>
    code === null
      ? []
      : [
          { runId, when: `before ${runId}`, hash: code.before, changed: [] },
          { runId, when: `after ${runId}`, hash: code.after, changed: code.changed ?? [] },
        ],
  )
  const index = seen.findIndex(({ hash }) => hash !== seen[0]?.hash)
  const [last, now] = [seen[index - 1], seen[index]]
  if (!last || !now) return null
  const hashes = `SHA-256 ${last.hash.slice(0, 12)}, then ${now.hash.slice(0, 12)}`
  const which = [...now.changed, hashes].join(', ')
  const written = last.runId === now.runId ? ' or keep what the trainer writes out of its folder,' : ''
  return `the trainer's sources changed between ${last.when} and ${now.when} (${which}). Measure again without changing them,${written} or name a revision for each variant`
}
