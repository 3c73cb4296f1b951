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
  const check = checkOf('same machine', machineProblems(experiment, measured), machineDetail(measured))
  const isUnknown = measured.every(
    ({ deviceNames, versions }) => deviceNames.length === 0 && !hasKeys(versions),
  )
  return check.status === 'passed' && isUnknown ? { ...check, status: 'not-measured' } : check
}

function hasKeys(versions: RunSummary['versions']): boolean {
  return Object.keys(versions).length > 0
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
  if (!run) return ''
  const { deviceNames, versions } = run
  const unknown = [...(deviceNames.length > 0 ? [] : ['devices']), ...(hasKeys(versions) ? [] : ['versions'])]
  const devices =
    deviceNames.length > 0
      ? [`${deviceNames.length} x ${[...new Set(deviceNames)].join(', ')} in every run`]
      : []
  const unread = unknown.length > 0 ? [`not read back: ${unknown.join(' and ')}`] : []
  return [...devices, ...unread].join('; ')
}

function versionsText(versions: RunSummary['versions']): string {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .sort()
    .join(', ')
}
