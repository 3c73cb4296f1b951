// Did the runs do the same work: samples, updates and data, by the config that each was given?

import { type Experiment, VARIANTS, type Variant } from '../../config/experiment.ts'
import { type Difference, differencesOf } from '../../config/same-work/differences.ts'
import { otherValue } from '../../config/same-work/reported-config.ts'
import { differencesOutside, type ResolvedConfigs } from '../../config/same-work/same-work.ts'
import type { RunSummary } from '../../measure/summary.ts'
import type { Fact, Provenance } from '../../read/facts.ts'
import { listed, shortened } from '../../text/wording.ts'
import type { VerdictInput } from '../verdict-input.ts'
import { type Check, checkOf } from './check.ts'
import { describeDifference, perVariant } from './run-differences.ts'
import { evaluatedEarlyProblems, evaluatedWhere } from './work/last-evaluation.ts'
import { readBackWorkDetail, readBackWorkProblems } from './work/read-back.ts'

export function checkEqualWork({
  experiment,
  measured,
  configs,
}: Pick<VerdictInput, 'experiment' | 'measured' | 'configs'>): Check {
  const detail = `${equalWorkDetail(measured)}${readBackWorkDetail(experiment, measured)}${unknownDetail(measured)}`
  const check = checkOf('equal work', equalWorkProblems(experiment, measured, configs), detail)
  const isUnknown = measured.some(({ facts }) => facts.samples === 'unknown')
  return check.status === 'passed' && isUnknown ? { ...check, status: 'not-measured' } : check
}

/** What was not compared, so that nobody takes it for equal. */
function unknownDetail(runs: readonly RunSummary[]): string {
  const unknown = COMPARED.filter(([, fact]) => runs.some(({ facts }) => !IS_KNOWN(facts[fact])))
  const names = unknown.map(([name]) => name)
  return names.length === 0 ? '' : `; not read back and so not compared: ${listed(names, names.length)}`
}

const COMPARED = [
  ['samples', 'samples'],
  ['parameters', 'parameters'],
  ['training data', 'training_data'],
  ['held-out set', 'held_out_set'],
  ['seed', 'seed'],
  ['config', 'config'],
] as const satisfies readonly (readonly [string, Fact])[]

/** Files that Speedproof hashed are compared by a check of their own. */
const IS_KNOWN = (provenance: Provenance) => provenance !== 'unknown' && provenance !== 'hashed'

/**
 * `of`: what the runs are. Steps of warm-up launches are not timed, and those that are short may end before what one of
 * full length has, such as an evaluation.
 */
export function equalWorkProblems(
  experiment: Experiment,
  runs: readonly RunSummary[],
  configs: ResolvedConfigs | null,
  of: 'measured' | 'warm-ups' | 'short warm-ups' = 'measured',
): string[] {
  const unequal = [
    describeDifference('readers of metrics', runs, (run) => run.reader),
    describeDifference('training samples', runs, (run) => run.samples),
    ...(experiment.kind === 'recipe'
      ? []
      : [
          describeDifference('attempted updates', runs, (run) => run.attemptedUpdates) ??
            (of === 'measured' ? unequalWarmUp(runs) : null),
        ]),
    describeDifference('world sizes', runs, (run) => run.worldSize),
    describeDifference('parameter counts', runs, (run) => run.parameterCount),
    describeDifference('data hashes', runs, (run) => run.dataHash),
    describeDifference('held-out samples', runs, (run) => run.evaluationSamples),
    otherHeldOutSet(runs),
  ]
  const miscounted = runs.filter((run) => run.samples !== run.reportedSamples)
  const processes = experiment.launch.nodes * experiment.launch.nproc_per_node
  const misplanned = runs.filter((run) => !isAsPlanned(run, processes))
  const whole = of === 'short warm-ups' ? [] : runs
  const skipping = whole.filter((run) => run.skippedUpdates > MOST_SKIPPED * run.attemptedUpdates)
  const uncounted = runs.filter((run) => run.attemptedUpdates !== run.steps)
  const resumed = runs.filter((run) => run.resumedAtSteps.length > 0)
  return [
    ...unequal.filter((problem) => problem !== null),
    ...miscounted.map(
      (run) =>
        `${run.runId}: its steps add up to ${run.samples} samples, but its run_end says ${run.reportedSamples}. Count the same samples in both`,
    ),
    ...uncounted.map(
      (run) =>
        `${run.runId}: reports ${run.steps} steps, but its run_end says ${run.attemptedUpdates} attempted updates. Report one step for each update`,
    ),
    ...skipping.map(
      (run) =>
        `${run.runId}: skipped ${run.skippedUpdates} of ${run.attemptedUpdates} updates, which do not train the model. Train longer, or find why its gradients overflow`,
    ),
    ...misplanned.map(
      (run) => `${run.runId}: ran ${unplannedText(run, processes)}. Check how the command line sets it`,
    ),
    ...evaluatedEarlyProblems(whole),
    ...resumed.map(
      (run) =>
        `${run.runId}: was resumed after step ${run.resumedAtSteps.join(', ')}, so its times are not those of one process. Train it from start to end in one launch`,
    ),
    ...reportedConfigProblems(experiment, runs),
    ...(configs === null ? [] : otherConfigProblems(runs, configs)),
    ...readBackWorkProblems(experiment, runs),
  ]
}

/** A seed may be unknown, and so may be that there is one process; several have to be counted. */
function isAsPlanned({ reportedSeed, seed, worldSize }: RunSummary, processes: number): boolean {
  return (reportedSeed ?? seed) === seed && (worldSize ?? 1) === processes
}

function unplannedText({ reportedSeed, seed, worldSize }: RunSummary, processes: number): string {
  const ran = [
    ...((reportedSeed ?? seed) === seed ? [] : [`with seed ${reportedSeed}, expected ${seed}`]),
    ...((worldSize ?? 1) === processes
      ? []
      : [`on ${worldSize ?? 'an unknown number of'} processes, expected ${processes}`]),
  ]
  return ran.join(' and ')
}

/** A loss scaler finds its scale by skipping the first few. */
const MOST_SKIPPED = 0.1

/** Steps of other samples would make the warm-up longer, and hide slow ones in it; their order may go by the seed. */
function unequalWarmUp(runs: readonly RunSummary[]): string | null {
  return differenceInBlock('steps for the samples of the warm-up', runs, (run) => run.warmUpSteps)
}

/** Each block has a seed, by which an evaluation may well draw: what it masks, for instance. */
function otherHeldOutSet(runs: readonly RunSummary[]): string | null {
  const problem = differenceInBlock('hashes of the held-out set', runs, (run) => run.evaluationHash)
  return (
    problem &&
    `${problem}. Set the same evaluation batch size in both variants: it changes the padding, or how many samples there are. If the evaluation draws at random, give it a fixed seed`
  )
}

/** That of the first block in which its runs differ. Warm-up launches, which have one seed, count as one. */
function differenceInBlock(
  what: string,
  runs: readonly RunSummary[],
  value: (run: RunSummary) => string | number | null,
): string | null {
  const problems = [...Map.groupBy(runs, ({ block }) => block)].map(([block, own]) =>
    describeDifference(
      `${what} of ${block === null ? 'the warm-up launches' : `block ${block}`}`,
      own,
      value,
    ),
  )
  return problems.find((problem) => problem !== null) ?? null
}

/** The configs as the trainings report them, not as they were handed over. */
function reportedConfigProblems({ kind, trainer }: Experiment, runs: readonly RunSummary[]): string[] {
  const [first, ...rest] = runs
  if (!first) return []
  const forbidden = new Set(
    rest.flatMap((run) =>
      differencesOutside(kind, first.config ?? {}, run.config ?? {}, trainer.speed_keys)
        .filter((difference) => !isSeed(difference, first, run))
        .map(({ key }) => key),
    ),
  )
  const silent = runs.filter(({ config }) => config === null)
  if (silent.length === runs.length) return []
  if (silent.length > 0)
    return [
      `${listed(silent.map(({ runId }) => runId))}: reports no config, which the others do. Report it in all runs, or in none`,
    ]
  return [
    ...(forbidden.size > 0
      ? [`the runs report different values of ${keysText([...forbidden])} in their config`]
      : []),
    ...VARIANTS.flatMap((variant) => changedWithin(variant, runs, forbidden)),
  ]
}

/** What may differ between the variants may not differ between the runs of one: its mean would be of two trainings. */
function changedWithin(
  variant: Variant,
  runs: readonly RunSummary[],
  reported: ReadonlySet<string>,
): string[] {
  const [first, ...rest] = runs.filter((run) => run.variant === variant)
  if (!first) return []
  const keys = new Set(
    rest.flatMap((run) =>
      differencesOf(first.config, run.config, [])
        .filter((difference) => !isSeed(difference, first, run))
        .map(({ key }) => key),
    ),
  )
  const unreported = [...keys].filter((key) => !reported.has(key))
  return unreported.length > 0
    ? [
        `the ${variant} runs report different values of ${keysText(unreported)} in their config. Leave values that change from run to run out of it`,
      ]
    : []
}

/** Many trainings keep their seed in their config, whatever they call it. */
function isSeed({ baseline, optimized }: Difference, first: RunSummary, run: RunSummary): boolean {
  return baseline === first.seed && optimized === run.seed
}

function keysText(keys: readonly string[]): string {
  return listed(keys.map((key) => shortened(key)))
}

/** So does a training that does not read --config, or that hands in a metrics file of another config. */
function otherConfigProblems(runs: readonly RunSummary[], configs: ResolvedConfigs): string[] {
  return VARIANTS.flatMap((variant) => {
    const others = runs.flatMap((run) => {
      if (run.config === null) return []
      const other = run.variant === variant ? otherValue(configs[variant], run.config) : null
      return other ? [{ ...other, runId: run.runId }] : []
    })
    const [first] = others
    if (!first) return []
    const { key, given, reported } = first
    const said = reported === undefined ? 'not reported' : `reported ${shown(reported)}`
    return [
      `${listed(others.map(({ runId }) => runId))}: ${shortened(key)} was given as ${shown(given)}, but ${said}. Read the config that --config names, and report it`,
    ]
  })
}

function shown(value: unknown): string {
  return shortened(JSON.stringify(value))
}

function equalWorkDetail(runs: readonly RunSummary[]): string {
  const [run] = runs
  if (!run) return ''
  const { all, each } = perVariant(runs, ({ attemptedUpdates }) => attemptedUpdates)
  const size = run.parameterCount === null ? '' : `${run.parameterCount} parameters`
  const samples = run.facts.samples === 'unknown' ? 'an unknown number of' : run.samples
  const work =
    all === null
      ? `${samples} samples${size && ` and ${size}`} in every run, updates: ${each}`
      : `${samples} samples, ${all} updates${size && `, ${size}`} in every run`
  return `${work}${evaluatedWhere(runs)}${skippedDetail(runs)}`
}

function skippedDetail(runs: readonly RunSummary[]): string {
  const most = VARIANTS.map((variant) =>
    Math.max(0, ...runs.filter((run) => run.variant === variant).map(({ skippedUpdates }) => skippedUpdates)),
  )
  const each = VARIANTS.map((variant, index) => `${most[index]} of the ${variant}`).join(', ')
  return most.some((count) => count > 0) ? `; updates skipped by a run, at most: ${each}` : ''
}
