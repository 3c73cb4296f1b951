// Are the runs comparable at all? Equal work, one machine, a steady state, clocks that agree.

import { differencesOf } from '../config/differences.ts'
import { type Experiment, VARIANTS, type Variant } from '../config/experiment.ts'
import { mayDifferInPackages } from '../config/revision-rules.ts'
import { differencesOutside, type ResolvedConfigs } from '../config/same-work.ts'
import { MATTERS, MIN_RUNS_TO_TELL } from '../measure/steady-state.ts'
import type { RunSummary } from '../measure/summary.ts'
import { looksOf } from '../plan/looks.ts'
import type { Check } from './check.ts'
import { clockProblems } from './clock-problems.ts'
import { checkCode } from './code-check.ts'
import { pairedMean } from './paired.ts'

/** That luck shows a trend: over both variants, both directions and all looks together. */
const TREND_ERROR = 0.02

/**
 * `runs` are the finished measured runs; without any there is nothing to compare. `configs` were handed over to them;
 * null where the caller has none.
 */
export function checkValidity(
  experiment: Experiment,
  runs: readonly RunSummary[],
  configs: ResolvedConfigs | null = null,
): Check[] {
  if (runs.length === 0) {
    return (['equal work', 'same code', 'same machine', 'steady state', 'clocks'] as const).map((name) => ({
      name,
      state: 'inconclusive',
      detail: 'no measured run finished',
    }))
  }
  return [
    check(
      'equal work',
      [...equalWorkProblems(experiment, runs), ...otherConfigProblems(runs, configs)],
      equalWorkDetail(runs),
    ),
    checkCode(experiment, runs),
    check('same machine', machineProblems(experiment, runs), machineDetail(runs)),
    check('steady state', steadyStateProblems(experiment, runs), steadyStateDetail(runs)),
    check('clocks', clockProblems(runs), 'what the runs report fits into the time that their processes took'),
  ]
}

function check(name: Check['name'], problems: readonly string[], detail: string): Check {
  return problems.length > 0
    ? { name, state: 'failed', detail: problems.join('; ') }
    : { name, state: 'passed', detail }
}

function equalWorkProblems(experiment: Experiment, runs: readonly RunSummary[]): string[] {
  const unequal = [
    spread('training samples', runs, (run) => run.samples),
    ...(experiment.kind === 'recipe'
      ? []
      : [spread('attempted updates', runs, (run) => run.attemptedUpdates) ?? unequalWarmUp(runs)]),
    spread('world sizes', runs, (run) => run.worldSize),
    spread('parameter counts', runs, (run) => run.parameterCount),
    spread('data hashes', runs, (run) => run.dataHash),
    spread('held-out samples', runs, (run) => run.evaluationSamples),
  ]
  const miscounted = runs.filter((run) => run.samples !== run.reportedSamples)
  const processes = experiment.launch.nnodes * experiment.launch.nproc_per_node
  const misplanned = runs.filter((run) => run.reportedSeed !== run.seed || run.worldSize !== processes)
  const skipping = runs.filter((run) => run.skippedUpdates > MOST_SKIPPED * run.attemptedUpdates)
  const uncounted = runs.filter((run) => run.attemptedUpdates !== run.steps)
  const evaluatedEarly = runs.filter((run) => run.samples !== run.evaluatedAfterSamples)
  const resumed = runs.filter((run) => run.resumedAtSteps.length > 0)
  return [
    ...unequal.filter((problem) => problem !== null),
    ...miscounted.map(
      (run) =>
        `${run.runId}: its steps add up to ${run.samples} samples, its run_end says ${run.reportedSamples}`,
    ),
    ...uncounted.map(
      (run) =>
        `${run.runId}: reports ${run.steps} steps, its run_end says ${run.attemptedUpdates} attempted updates; a step is an update`,
    ),
    ...skipping.map(
      (run) =>
        `${run.runId}: skipped ${run.skippedUpdates} of ${run.attemptedUpdates} updates, which are no work; train longer, or find why its gradients overflow`,
    ),
    ...misplanned.map(
      (run) =>
        `${run.runId}: ran with seed ${run.reportedSeed} on ${run.worldSize} processes, planned were seed ${run.seed} and ${processes}`,
    ),
    ...evaluatedEarly.map(
      (run) =>
        `${run.runId}: its last evaluation is after ${run.evaluatedAfterSamples} of ${run.samples} samples; evaluate at the end`,
    ),
    ...resumed.map(
      (run) =>
        `${run.runId}: was resumed after step ${run.resumedAtSteps.join(', ')}, so its times are not those of one process`,
    ),
    ...reportedConfigProblems(experiment, runs),
  ]
}

/** A loss scaler finds its scale by skipping the first few. */
const MOST_SKIPPED = 0.1

/** Steps of other samples would make the warm-up longer, and hide slow ones in it; their order may go by the seed. */
function unequalWarmUp(runs: readonly RunSummary[]): string | null {
  const blocks = [...Map.groupBy(runs, ({ block }) => block).values()]
  const problems = blocks.map((block) =>
    spread('steps for the samples of the warm-up', block, (run) => run.warmUpSteps),
  )
  return problems.find((problem) => problem !== null) ?? null
}

/** The configs as the trainings report them, not as they were handed over. */
function reportedConfigProblems({ kind }: Experiment, runs: readonly RunSummary[]): string[] {
  const [first, ...rest] = runs
  if (!first) return []
  const forbidden = new Set(
    rest.flatMap((run) => differencesOutside(kind, first.config, run.config).map(({ key }) => key)),
  )
  return [
    ...[...forbidden].map((key) => `the runs report different values of ${key}`),
    ...VARIANTS.flatMap((variant) => changedWithin(variant, runs, forbidden)),
  ]
}

/** What may differ between the variants may not differ between the runs of one: its mean would be of two trainings. */
function changedWithin(variant: Variant, runs: readonly RunSummary[], told: ReadonlySet<string>): string[] {
  const [first, ...rest] = runs.filter((run) => run.variant === variant)
  if (!first) return []
  const keys = new Set(
    rest.flatMap((run) => differencesOf(first.config, run.config, []).map(({ key }) => key)),
  )
  return [...keys]
    .filter((key) => !told.has(key))
    .map((key) => `the ${variant} runs report different values of ${key}`)
}

/** A training that ignores --config, or hands in an older metrics file. It may report more: defaults of its own. */
function otherConfigProblems(runs: readonly RunSummary[], configs: ResolvedConfigs | null): string[] {
  if (configs === null) return []
  return runs.flatMap(({ runId, variant, config }) => {
    const differences = differencesOf(configs[variant], config, [], 'in the first')
    const other = differences.find(({ baseline, optimized }) => baseline !== null || optimized !== null)
    return other
      ? [
          `${runId}: was given ${other.key} ${JSON.stringify(other.baseline)}, and its run_start has ${JSON.stringify(other.optimized)}: report the config that --config names, as it is`,
        ]
      : []
  })
}

function equalWorkDetail(runs: readonly RunSummary[]): string {
  const [run] = runs
  if (!run) return ''
  const { all, each } = perVariant(runs, ({ attemptedUpdates }) => attemptedUpdates)
  return all === null
    ? `${run.samples} samples and ${run.parameterCount} parameters in every run, updates: ${each}${skippedDetail(runs)}`
    : `${run.samples} samples, ${all} updates, ${run.parameterCount} parameters in every run${skippedDetail(runs)}`
}

function skippedDetail(runs: readonly RunSummary[]): string {
  const most = VARIANTS.map((variant) =>
    Math.max(0, ...runs.filter((run) => run.variant === variant).map(({ skippedUpdates }) => skippedUpdates)),
  )
  const each = VARIANTS.map((variant, index) => `${most[index]} of the ${variant}`).join(', ')
  return most.some((count) => count > 0) ? `; updates skipped by a run, at most: ${each}` : ''
}

/** A recipe may take another number of steps for the same samples; the number of all runs, or null where they differ. */
function perVariant(runs: readonly RunSummary[], of: (run: RunSummary) => number) {
  const numbers = VARIANTS.flatMap((variant) => {
    const run = runs.find((candidate) => candidate.variant === variant)
    return run ? [{ variant, number: of(run) }] : []
  })
  const [all = null, ...others] = new Set(numbers.map(({ number }) => number))
  return {
    all: others.length > 0 ? null : all,
    each: numbers.map(({ variant, number }) => `${number} of the ${variant}`).join(', '),
  }
}

function machineProblems(experiment: Experiment, runs: readonly RunSummary[]): string[] {
  const withOneLock = mayDifferInPackages(experiment)
    ? VARIANTS.map((variant) => runs.filter((run) => run.variant === variant))
    : [runs]
  const problems = [
    spread('devices', runs, (run) => run.deviceNames.join(', ')),
    ...withOneLock.map((some) => spread('versions', some, (run) => versionsText(run.versions))),
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

function steadyStateProblems(experiment: Experiment, runs: readonly RunSummary[]): string[] {
  const confidence = 1 - TREND_ERROR / (2 * VARIANTS.length * looksOf(experiment).length)
  return [
    ...runs.flatMap(warmUpProblems),
    ...runs.flatMap(periodProblems),
    ...VARIANTS.flatMap((variant) => trendProblems(variant, runs, confidence)),
  ]
}

function steadyStateDetail(runs: readonly RunSummary[]): string {
  const warmUp = perVariant(runs, ({ warmUpSteps }) => warmUpSteps)
  const period = perVariant(runs, ({ periodSteps }) => periodSteps)
  const timed =
    warmUp.all === null
      ? `timed after the same samples in all runs, warm-up steps: ${warmUp.each}`
      : `timed after ${warmUp.all} warm-up steps, the same for all runs`
  return period.all === 1 ? timed : `${timed}; in whole periods, steps: ${period.all ?? period.each}`
}

/** As many as the shortest warm-up has. */
const MIN_TIMED_STEPS = 10

function warmUpProblems({ runId, warmUpSteps, warmUpSamples, steps, samples }: RunSummary): string[] {
  if (warmUpSamples * 2 > samples)
    return [
      `${runId}: ${warmUpSteps} of ${steps} steps are warm-up, with ${warmUpSamples} of ${samples} samples; a run needs at least ${warmUpSamples * 2} samples`,
    ]
  if (steps - warmUpSteps < MIN_TIMED_STEPS)
    return [
      `${runId}: ${steps - warmUpSteps} steps are left after ${warmUpSteps} warm-up steps; a run needs at least ${MIN_TIMED_STEPS}`,
    ]
  return []
}

/** Fewer show no trend. */
const MIN_TIMED_PERIODS = 3

/** Of the samples after the warm-up: steps behind the last whole period are not timed, and may be slow ones. */
const MOST_UNTIMED = 0.1

function periodProblems(run: RunSummary): string[] {
  const { runId, periodSteps, timedPeriods, untimedSamples, samples, warmUpSamples } = run
  if (timedPeriods < MIN_TIMED_PERIODS)
    return [
      `${runId}: ${timedPeriods} whole periods of ${periodSteps} steps (period_steps) are left after the warm-up; a run needs at least ${MIN_TIMED_PERIODS}: make it longer`,
    ]
  return untimedSamples > MOST_UNTIMED * (samples - warmUpSamples)
    ? [
        `${runId}: ${untimedSamples} of ${samples - warmUpSamples} samples after the warm-up lie behind the last whole period of ${periodSteps} steps (period_steps), where nothing is timed; make it longer`,
      ]
    : []
}

/**
 * A trend of one run may be luck, and then widens the interval like all luck; a trend that the runs of a variant share
 * is none. So each run is one number, and the whole interval of their mean must lie beyond 2%.
 */
function trendProblems(variant: Variant, runs: readonly RunSummary[], confidence: number): string[] {
  const trends = runs.flatMap((run) => (run.variant === variant ? (run.logTrend ?? []) : []))
  const shared = trends.length < MIN_RUNS_TO_TELL ? null : pairedMean(trends, confidence)
  if (!shared?.bounds) return []
  const { lower, upper } = shared.bounds
  if (lower <= MATTERS && upper >= -MATTERS) return []
  const direction = shared.estimate > 0 ? 'slower' : 'faster'
  return [
    `${variant}: over the timed steps all ${trends.length} runs get ${direction} by more than 2%; make the runs longer, or find what changes`,
  ]
}

function spread(
  what: string,
  runs: readonly RunSummary[],
  value: (run: RunSummary) => string | number,
): string | null {
  const values = new Set(runs.map(value))
  return values.size > 1 ? `${what} differ: ${[...values].slice(0, 4).join(' / ')}` : null
}
