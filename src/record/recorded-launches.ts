// Refuses a result.json whose launches are not those of its own plan, each at most once.
import type { Experiment } from '../config/experiment.ts'
import { ConfigError } from '../errors.ts'
import type { LaunchRecord } from '../measure/outcome.ts'
import { type PlannedRun, planRuns, repeatOf, runTitle } from '../plan/plan.ts'

/** A run is launched once, and its repeat has a name of its own: whatever else stands there was not measured as planned. */
export function refuseForeignLaunches(
  experiment: Experiment,
  launches: readonly LaunchRecord[],
  file: string,
): void {
  const planned = planRuns(experiment).flatMap((run) => [run, repeatOf(run)])
  for (const [index, launch] of launches.entries()) {
    const { runId } = launch
    const run = planned.find(({ id }) => id === runId)
    if (run === undefined) {
      throw new ConfigError(
        `${file}: launches.${index}.runId: got ${JSON.stringify(runId)}, which is not a run of this experiment's plan. Use result.json as Speedproof wrote it`,
      )
    }
    const first = launches.findIndex((other) => other.runId === runId)
    if (first < index) throw new ConfigError(doubled(file, run, launches, [first, index]))
  }
}

function doubled(
  file: string,
  run: PlannedRun,
  launches: readonly LaunchRecord[],
  indices: readonly number[],
): string {
  const both = indices
    .map((index) => `launches.${index} (started ${JSON.stringify(launches[index]?.startedAt)})`)
    .join(' and ')
  return `${file}: ${both} are both ${run.id}: ${runTitle(run)}, seed ${run.seed}; each run is launched once. Use result.json as Speedproof wrote it`
}
