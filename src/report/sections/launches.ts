// Every launch, with what became of it.
import type { NotRunReason } from '../../measure/outcome.ts'
import type { RunSummary } from '../../measure/summary.ts'
import { DATA_WAIT_SHARE, HELD_OUT_LOSS, SECONDS_PER_SAMPLE } from '../../metrics/catalogue.ts'
import { runTitle } from '../../plan/plan.ts'
import type { OutcomeLine, Result } from '../../record/result.ts'
import { duration, number, percent, seconds } from '../../text/numbers.ts'
import { shortened } from '../../text/wording.ts'
import { escapeCell } from '../escape.ts'
import { folded, type Section, table } from '../section.ts'
import { countsText } from './checks.ts'
import { warmUpLines } from './warm-up.ts'

export const launchesSection: Section = (result) => ({
  kind: 'details',
  title: 'all launches',
  markdown: folded(`All launches: ${countsText(result.outcomes) || 'none'}`, launchesText(result)),
})

function launchesText(result: Result): string {
  return [launchesTable(result), ...warmUpLines(result.experiment).map((line) => escapeCell(line, 600))].join(
    '\n\n',
  )
}

function launchesTable(result: Result): string {
  return table([LAUNCHES_HEAD, ...launchRows(result).map((row) => row.map((cell) => escapeCell(cell, 400)))])
}

export const LAUNCHES_HEAD = [
  'launch',
  'seed',
  'status',
  'per sample',
  'median step',
  'data wait',
  'held-out loss',
  'skipped updates',
  'compile cache',
  'set-up',
  'wall',
]

/** Nothing is dropped: warm-up launches, failed and unfinished ones are all here. Untrusted texts, as they are. */
export function launchRows({ outcomes, runs }: Result): string[][] {
  return outcomes.map((outcome) => {
    const { setAside } = outcome
    const summary = setAside?.summary ?? runs.find(({ runId }) => runId === outcome.run.id)
    return [
      runTitle(outcome.run),
      String(outcome.run.seed),
      `${statusText(outcome)}${setAside === null ? '' : '; does not count'}`,
      ...summaryCells(summary, outcome),
    ]
  })
}

function statusText({ status, reason, message }: OutcomeLine): string {
  if (status === 'not-run') return `not run: ${WHY_NOT_RUN[reason ?? ''] ?? reason}`
  return [
    status,
    reason === null ? '' : `: ${reason}`,
    message === null ? '' : `, ${shortened(message, 300)}`,
  ].join('')
}

const WHY_NOT_RUN: Readonly<Record<string, string>> = {
  decided: 'the verdict was decided',
  futile: 'more blocks had little chance to decide',
  budget: 'the budget was spent',
  unfit: 'the machine was not fit',
  failed: 'a launch before it failed',
  incomparable: 'those before it cannot be compared',
  unmeasured: 'a required gate has no number',
  stopped: 'stopped before it',
} satisfies Record<NotRunReason, string>

function summaryCells(summary: RunSummary | undefined, { wallSeconds, compileCache }: OutcomeLine): string[] {
  const wall = wallSeconds === null ? '' : duration(wallSeconds)
  if (!summary) return ['', '', '', '', '', compileCache ?? '', '', wall]
  const { [SECONDS_PER_SAMPLE]: time, [DATA_WAIT_SHARE]: wait, [HELD_OUT_LOSS]: loss } = summary.metrics
  return [
    time === undefined ? 'not measured' : seconds(time),
    seconds(summary.medianStepSeconds),
    wait === undefined ? 'not measured' : percent(wait),
    loss === undefined ? 'not measured' : number(loss, 5),
    String(summary.skippedUpdates),
    compileCache ?? 'not measured',
    seconds(summary.setUpSeconds),
    wall,
  ]
}
