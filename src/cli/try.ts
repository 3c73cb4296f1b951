// speedproof try: one short launch of each variant, and all that would make a verdict impossible at once.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { assess } from '../assess.ts'
import type { Experiment } from '../config/experiment.ts'
import { UnfitMachineError } from '../errors.ts'
import { openEngine } from '../io/engine/open-engine.ts'
import { loadAll } from '../io/load/load-all.ts'
import { checkRunMetrics } from '../io/load/read-run-files.ts'
import { type Opened, openAll } from '../io/load/resume.ts'
import { readLogLines } from '../io/process/log/log-lines.ts'
import { lastLines } from '../io/process/log/printed-lines.ts'
import { lockSite } from '../io/run/lock-site.ts'
import { ProgressView } from '../io/run/progress.ts'
import { runsToTry, tryVariants } from '../io/run/try-variants.ts'
import { cancelOnSignals } from '../io/system/cancel.ts'
import { plainText, sanitizeLine } from '../io/system/sanitize.ts'
import { unfitChecks } from '../judge/machine/machine.ts'
import { judgeTrial, type Trial } from '../judge/trial.ts'
import type { Watched } from '../measure/machine-record.ts'
import type { Launched } from '../measure/outcome.ts'
import { readerOf } from '../read/readers.ts'
import { medianOf } from '../statistics/averages.ts'
import { duration, seconds } from '../text/numbers.ts'
import { shellQuote } from '../text/shell-quote.ts'
import { listed } from '../text/wording.ts'
import { EXIT_CODES } from './exit-code.ts'
import { type Flags, inputsOf, withOverrides } from './options.ts'
import { printNote } from './print.ts'

/** More of them is one mistake, made often. */
const MOST_PROBLEMS = 20
const MOST_LINES = 8

export function addTry(program: Command): void {
  const command = program.command('try').argument('<experiment>', 'experiment file')
  withOverrides(command, ['python', 'base', 'seed', 'nproc-per-node', 'timeout-minutes'])
    .description('launch each variant once, as short as warm-ups are, and say all that is wrong')
    .option('--out <folder>', 'folder for the launches', 'out/try')
    .action(tryExperiment)
}

async function tryExperiment(file: string, flags: Flags): Promise<void> {
  const inputs = { ...inputsOf([file], flags), outDirectory: resolve(flags.out) }
  const stage = { cancelled: cancelOnSignals(), note: printNote }
  await using call = await loadAll({ ...inputs, ...stage, onWorktree: () => {} })
  await using site = await lockSite(call.loaded, inputs, stage)
  const [opened] = await openAll(call.loaded, site.lock(), false, stage)
  if (opened === undefined) throw new Error('one experiment was loaded')
  const { experiment } = opened.request
  await using engine = await openEngine(
    { ...opened, experiment, workingDirectory: site.workingDirectory, isResumed: false },
    { ...stage, onAllocation: () => {} },
  )
  const machine = await site.examine(experiment, engine, stage.cancelled)
  requireFit(experiment, machine.seen)
  const launched = await tryVariants(opened, {
    ...{ cancelled: stage.cancelled, machine, engine, onStart: () => {} },
    progress: new ProgressView(runsToTry(experiment), process.stdout, false),
  })
  const trial = judged(opened, launched, machine.seen)
  const failures = await Promise.all(launched.map((one) => failureLines(one, opened)))
  console.log(['', ...launched.flatMap(finishedLine), ...failures.flat(), ...trialLines(trial)].join('\n'))
  const isRight = failures.flat().length + trial.problems.length === 0
  console.log(
    isRight
      ? `No problem found. Next: speedproof run ${shellQuote(file)}`
      : `What the launches left: ${flags.out}/runs`,
  )
  process.exitCode = isRight ? EXIT_CODES.passed : EXIT_CODES.failed
}

/** Another training on the same GPUs would be disturbed, and what is measured there now too. */
function requireFit(experiment: Experiment, { preflight }: Watched): void {
  const unfit = unfitChecks(experiment, preflight)
  if (unfit.length > 0)
    throw new UnfitMachineError(unfit.map(({ name, detail }) => `${name}: ${detail}`).join('\n'))
}

function judged({ request }: Opened, launched: readonly Launched[], watched: Watched): Trial {
  const asked = { ...request, experiment: asTried(request.experiment) }
  const { runs, verdict } = assess(asked, launched.map(asFarAsRead), watched)
  return judgeTrial({ ...asked, runs }, verdict.checks)
}

/** Metrics with a start and an end say more than what is wrong with them, such as that there is no evaluation. */
function asFarAsRead(launched: Launched): Launched {
  const { outcome, launch } = launched
  if (outcome.status !== 'failed' || outcome.reason !== 'bad-metrics' || launch === null) return launched
  const { run, wallSeconds, metrics } = outcome
  if (metrics === null || metrics.start === null || metrics.end === null || wallSeconds === null)
    return launched
  const read = { ...metrics, start: metrics.start, end: metrics.end, problem: null }
  return { launch, outcome: { status: 'finished', run, wallSeconds, code: launch.code, metrics: read } }
}

/** Without warm-up launches nothing shortens one. */
function asTried(experiment: Experiment): Experiment {
  const { warm_up_set: shortened, warm_up_launches: launches, ...design } = experiment.design
  const set = launches === 0 || shortened === undefined ? {} : { warm_up_set: shortened }
  return { ...experiment, design: { ...design, ...set, warm_up_launches: 1 } }
}

function finishedLine({ outcome }: Launched): string[] {
  if (outcome.status !== 'finished') return []
  const { run, wallSeconds, metrics } = outcome
  const { steps, evaluations } = metrics
  const median = steps.seconds.length === 0 ? '' : `, median ${seconds(medianOf(steps.seconds))}`
  return [
    `${run.variant}: finished in ${duration(wallSeconds)}, steps: ${metrics.end.attempted_updates}${median}, evaluations: ${evaluations.length}`,
  ]
}

/** Why a launch failed, all that is wrong with its metrics, and what it printed last. */
async function failureLines({ outcome }: Launched, { request, workspace }: Opened): Promise<string[]> {
  if (outcome.status !== 'failed') return []
  const { run, reason, message } = outcome
  const { directory, logFile } = workspace.runFiles(run)
  const isOfMetrics = reason === 'bad-metrics' || reason === 'diverged'
  const problems = isOfMetrics
    ? await checkRunMetrics(directory, readerOf(request.experiment.metrics), MOST_PROBLEMS)
    : []
  const others = problems.map((problem) => problem.message).filter((text) => !message.includes(text))
  return [
    plainText(`${run.variant}: failed (${reason}): ${message}`),
    ...others.map((text) => `  - ${plainText(text)}`),
    ...lastLines(await readLogLines(logFile), MOST_LINES).map((line) => `  ${sanitizeLine(line)}`),
  ]
}

function trialLines({ problems, unknown }: Trial): string[] {
  return [
    ...(problems.length === 0 ? [] : ['Problems:']),
    ...problems.map((problem) => `  - ${plainText(problem)}`),
    ...(unknown.length === 0 ? [] : [`Unknown: ${listed(unknown, unknown.length)}`]),
  ]
}
