// Did all runs have the same devices and package versions?
import { type Experiment, VARIANTS } from '../../config/experiment.ts'
import { mayDifferInPackages } from '../../config/revisions/revision-rules.ts'
import type { RunSummary } from '../../measure/summary.ts'
import type { VerdictInput } from '../verdict-input.ts'
import { type Check, checkOf } from './check.ts'
import { describeDifference } from './run-differences.ts'

export function checkSameMachine({
  experiment,
  measured,
}: Pick<VerdictInput, 'experiment' | 'measured'>): Check {
  return checkOf('same machine', machineProblems(experiment, measured), machineDetail(measured))
}

function machineProblems(experiment: Experiment, runs: readonly RunSummary[]): string[] {
  const withOneLock = mayDifferInPackages(experiment)
    ? VARIANTS.map((variant) => runs.filter((run) => run.variant === variant))
    : [runs]
  const problems = [
    describeDifference('devices', runs, (run) => run.deviceNames.join(', ')),
    ...withOneLock.map((some) => describeDifference('versions', some, (run) => versionsText(run.versions))),
  ]
  return problems.filter((problem) => problem !== null)
}

function machineDetail([run]: readonly RunSummary[]): string {
  return run ? `${run.deviceNames.length} x ${[...new Set(run.deviceNames)].join(', ')} in every run` : ''
}

function versionsText(versions: RunSummary['versions']): string {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .sort()
    .join(', ')
}
