// What would run, in which order, with which commands, and for how long.
import { markdownTable } from 'markdown-table'
import { gatesOf, VARIANTS } from '../config/experiment.ts'
import { declaredDifferences, environmentDifferences } from '../config/same-work.ts'
import { estimateSeconds, meanWallSeconds, type TimedRun } from '../plan/estimate.ts'
import type { PlannedRun } from '../plan/plan.ts'
import { type RunPaths, torchrunCommand } from '../plan/torchrun.ts'
import { duration } from './format.ts'
import { shellQuote } from './reproduce.ts'
import type { Request } from './result.ts'
import { settingText } from './setting.ts'

export interface RunFolders {
  runFiles(run: PlannedRun): RunPaths
}

export function renderPlan(
  request: Request,
  plan: readonly PlannedRun[],
  folders: RunFolders,
  earlier: readonly TimedRun[],
): string {
  const { experiment, configs } = request
  const rows = plan.map(({ id, purpose, variant, seed }) => [id, purpose, variant, String(seed)])
  const first = VARIANTS.map((variant) => plan.find((run) => run.variant === variant)).filter(
    (run) => run !== undefined,
  )
  const processes = experiment.launch.nnodes * experiment.launch.nproc_per_node
  return [
    `${experiment.name}: ${plan.length} launches on ${processes} ${processes === 1 ? 'process' : 'processes'}`,
    '',
    markdownTable([['launch', 'purpose', 'variant', 'seed'], ...rows]),
    '',
    'Differences between the variants',
    ...[...declaredDifferences(experiment.kind, configs), ...environmentDifferences(experiment)].map(
      ({ key, baseline, optimized }) => `  ${key}: ${settingText(baseline)} -> ${settingText(optimized)}`,
    ),
    '',
    'Gates',
    ...gatesOf(experiment).map(
      ({ name, direction, limit, severity }) =>
        `  ${name} ${direction.replace('_', ' ')} ${limit} (${severity})`,
    ),
    '',
    'Commands',
    ...first.map(
      (run) => `  ${torchrunCommand(experiment, run, folders.runFiles(run)).map(shellQuote).join(' ')}`,
    ),
    '',
    timeText(request, plan, earlier),
  ].join('\n')
}

function timeText(
  { experiment }: Request,
  plan: readonly PlannedRun[],
  earlier: readonly TimedRun[],
): string {
  const limit = duration(plan.length * experiment.launch.timeout_minutes * 60)
  const estimate = estimateSeconds(plan, meanWallSeconds(earlier))
  if (estimate === null)
    return `Time: no earlier result of ${experiment.name} to estimate from; at most ${limit} by its time limit`
  return `Time: about ${duration(estimate)}, from ${earlier.length} earlier launches; at most ${limit} by its time limit`
}
