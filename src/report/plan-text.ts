// What would run, in which order, with which commands, and for how long.
import { markdownTable } from 'markdown-table'
import { type Experiment, gatesOf, VARIANTS, type Variant } from '../config/experiment.ts'
import type { LaunchInputs } from '../config/launch/trainer-input.ts'
import type { Source } from '../config/revisions/sources.ts'
import { whyNotReevaluated } from '../judge/checks/reevaluation.ts'
import { overBudgetToPass } from '../plan/budget.ts'
import { launchCommand } from '../plan/command.ts'
import { estimateSeconds, meanWallSeconds, type WallSeconds } from '../plan/estimate.ts'
import { isMeasured, type PlannedRun } from '../plan/plan.ts'
import { slurmCommands } from '../plan/slurm.ts'
import type { RunFiles } from '../plan/torchrun.ts'
import { allDifferences } from '../record/differences.ts'
import type { Request } from '../record/result.ts'
import { duration, number } from '../text/numbers.ts'
import { shellQuote } from '../text/shell-quote.ts'
import { expectedLines } from './expected-launches.ts'
import { gateQuestion } from './gates/gate-row.ts'
import { looksPlanned } from './looks.ts'
import { warmUpLines } from './sections/warm-up.ts'
import { differenceText } from './setting.ts'

export interface RunFolders {
  runFiles(run: PlannedRun, configName?: string | null): RunFiles
  allocationDirectory(time: string): string
  /** Where what runs on the nodes of a cluster is installed. */
  readonly agent: string
}

export interface Planned {
  readonly request: Request
  readonly places: Readonly<Record<Variant, { readonly python: string }>>
  readonly inputs: LaunchInputs
}

export function renderPlan(
  { request, places, inputs }: Planned,
  plan: readonly PlannedRun[],
  folders: RunFolders,
  earlier: WallSeconds,
): string {
  const { experiment, sources } = request
  const rows = plan.map(({ id, purpose, variant, seed }) => [
    id,
    purpose,
    variant,
    String(seed),
    codeOf(sources?.[variant]),
  ])
  const first = VARIANTS.map((variant) => plan.find((run) => run.variant === variant)).filter(
    (run) => run !== undefined,
  )
  const processes = experiment.launch.nodes * experiment.launch.nproc_per_node
  const slurmLines = (command: readonly string[], files: RunFiles, isFirst: boolean) => {
    const folder = folders.allocationDirectory('TIME')
    return slurmCommands(experiment, command, { files, folder, agent: folders.agent }, isFirst)
  }
  return [
    `${experiment.name}${experiment.mode === 'aa' ? ' (A/A, the baseline against itself)' : ''}: ${plan.length} launches on ${processes} ${processes === 1 ? 'process' : 'processes'}`,
    '',
    markdownTable([['launch', 'purpose', 'variant', 'seed', 'code'], ...rows]),
    ...warmUpLines(experiment),
    '',
    'Differences between the variants',
    ...allDifferences(request).map((difference) => `  ${differenceText(difference)}`),
    '',
    'Gates',
    ...gatesOf(experiment).map((gate) => `  ${gateQuestion(gate)}`),
    '',
    ...looksPlanned(experiment),
    ...expectedLines(experiment),
    '',
    ...ladderText(experiment),
    'Commands',
    ...first.flatMap((run, index) => {
      const { python } = places[run.variant]
      const { file, flags } = inputs[run.purpose][run.variant]
      const files = folders.runFiles(run, file?.name)
      const command = launchCommand(experiment, run, files, python, flags)
      const lines = experiment.launch.engine === 'slurm' ? slurmLines(command, files, index === 0) : [command]
      return lines.map((words) => `  ${words.map(shellQuote).join(' ')}`)
    }),
    ...(whyNotReevaluated(experiment) === null
      ? ['  and one process in the end, which evaluates all final checkpoints once more']
      : []),
    '',
    ...budgetLines(experiment, plan, earlier),
    timeText(request, plan, earlier),
  ].join('\n')
}

function ladderText({ ladder }: Experiment): string[] {
  if (ladder === undefined) return []
  const names = ladder.rungs.map(({ name }) => name).join(', ')
  return [`Rungs, which only \`speedproof ladder\` launches: ${names}`, '']
}

/** What is spent on looks that cannot pass buys nothing but an early failure. */
function budgetLines(experiment: Experiment, plan: readonly PlannedRun[], earlier: WallSeconds): string[] {
  const over = overBudgetToPass(experiment, plan, earlier)
  if (over === null) return []
  const { blocks, gpuMinutes } = over
  return [
    `warning: design.gpu_minutes is ${experiment.design.gpu_minutes}, so no look that can pass is reached. The first one, after ${blocks} blocks, takes about ${number(gpuMinutes, 3)} GPU minutes. Raise the budget, or plan an earlier look that can pass`,
    '',
  ]
}

/** Short, but enough to name the commit. */
function codeOf(source: Source | undefined): string {
  if (source === undefined || source.ref === null) return 'working tree'
  return `${source.revision?.slice(0, 12)} (${source.ref})`
}

function timeText({ experiment }: Request, plan: readonly PlannedRun[], earlier: WallSeconds): string {
  const { timeout_minutes: timeout, lock_minutes: lock } = experiment.launch
  const reevaluates = whyNotReevaluated(experiment) === null
  const besides = [
    ...(lock > 0 ? [`${duration(lock * 60)} for the machine to be free`] : []),
    ...(reevaluates ? [`${duration(timeout * 60)} for the evaluation in the end`] : []),
    'blocks that the machine disturbs, which are measured again',
  ]
  const limit = `${duration(plan.length * timeout * 60)} by its time limit, besides ${listText(besides)}`
  const estimate = estimateSeconds(plan, meanWallSeconds(earlier))
  if (estimate === null)
    return `Time: no earlier result of ${experiment.name} to estimate from; at most ${limit}`
  const about = `about ${duration(estimate)}, from ${[...earlier.keys()].filter(isMeasured).length} earlier launches`
  return `Time: ${about}${reevaluates ? ', and the evaluation in the end' : ''}; at most ${limit}`
}

function listText(items: readonly string[]): string {
  return [items.slice(0, -1).join(', '), ...items.slice(-1)].filter((text) => text !== '').join(' and ')
}
