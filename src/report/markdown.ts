// A result -> Markdown sections, most important first; the comment leaves out from the end if it must.

import { markdownTable } from 'markdown-table'
import type { Check } from '../judge/checks/check.ts'
import type { NotRunReason } from '../measure/outcome.ts'
import type { RunSummary } from '../measure/summary.ts'
import { DATA_WAIT_SHARE, HELD_OUT_LOSS, SECONDS_PER_SAMPLE } from '../metrics/catalogue.ts'
import { isMeasured, runTitle } from '../plan/plan.ts'
import type { OutcomeLine, Result } from '../record/result.ts'
import { duration, number, percent, seconds } from '../text/numbers.ts'
import { escapeCell } from './escape.ts'
import { gateCells, gateMeaning, TABLE_HEAD } from './gates/gate-row.ts'
import type { CommentSection } from './github/comment.ts'
import { chartMarkdown } from './sections/chart.ts'
import { settingText } from './sections/differences.ts'
import { MACHINE_HEAD, machineCheckLines, machineNumbers } from './sections/machine.ts'
import { reproduceCommand } from './sections/reproduce.ts'
import { ruleLink, ruleOf } from './sections/rules.ts'
import { secondaryEvidence } from './sections/secondary-evidence.ts'
import { warmUpLines } from './sections/warm-up.ts'

export function renderSections(result: Result): CommentSection[] {
  return [
    { kind: 'verdict', title: 'verdict', markdown: verdictText(result) },
    {
      kind: 'rows',
      title: 'the gate table',
      markdown: table([TABLE_HEAD, ...result.verdict.gates.map(gateCells)]),
    },
    { kind: 'details', title: 'what the numbers mean', markdown: meanings(result) },
    ...(result.curves.length > 0
      ? [
          {
            kind: 'chart' as const,
            title: 'the curves',
            markdown: folded('Curves', result.curves.map(chartMarkdown).join('\n\n')),
          },
        ]
      : []),
    { kind: 'details', title: 'checks', markdown: folded('Checks', checksTable(result.verdict.checks)) },
    { kind: 'details', title: 'the machine', markdown: folded('Machine', machineTables(result)) },
    { kind: 'details', title: 'all launches', markdown: folded('All launches', launchesText(result)) },
    {
      kind: 'details',
      title: 'differences',
      markdown: folded('What differs between the variants', differencesTable(result)),
    },
    { kind: 'details', title: 'environment', markdown: folded('Environment', environmentTable(result)) },
    {
      kind: 'link',
      title: 'reproduce',
      markdown: folded('Reproduce', codeBlock('sh', reproduceCommand(result))),
    },
  ]
}

export function renderMarkdown(result: Result): string {
  return joinSections(renderSections(result))
}

export function joinSections(sections: readonly CommentSection[]): string {
  return `${sections
    .map(({ markdown }) => markdown)
    .filter((markdown) => markdown !== '')
    .join('\n\n')}\n`
}

export const VERDICT_ICON = { passed: '✅', failed: '❌', inconclusive: '❔', invalid: '⚠️' } as const

/** An A/A bears its experiment's name, and must not be taken for it. */
export function verdictTitle({ experiment: { name, mode }, verdict }: Result): string {
  return `${name}${mode === 'aa' ? ' (A/A)' : ''} ${verdict.verdict}`
}

function verdictText(result: Result): string {
  const { verdict } = result
  const warnings = verdict.warnings.map((warning) => `> ⚠️ ${escapeCell(warning)}`)
  return [
    `## ${VERDICT_ICON[verdict.verdict]} Speedproof: ${verdictTitle(result)}`,
    '',
    `**Why:** ${escapeCell(verdict.reason, 1000)} (${ruleLink('how a verdict is made', 'verdicts')})`,
    ...(warnings.length > 0 ? ['', ...warnings] : []),
  ].join('\n')
}

function meanings(result: Result): string {
  const gates = result.verdict.gates.map(
    (gate) =>
      `- **${gate.gate.name}** (${ruleLink('rule', ruleOf(gate.gate))}): ${escapeCell(gateMeaning(gate), 600)}`,
  )
  const beside = secondaryEvidence(result).map((line) => `- ${escapeCell(line, 600)}`)
  return [
    ...gates,
    ...beside,
    `- ${ruleLink('What stands beside the gates', 'beside')} decides nothing.`,
  ].join('\n')
}

function checksTable(checks: readonly Check[]): string {
  const rows = table([
    ['check', 'state', 'detail'],
    ...checks.map(({ name, state, detail }) => [name, state, escapeCell(detail, 600)]),
  ])
  return `${rows}\n\n${ruleLink('What each check asks', 'checks')}`
}

function machineTables(result: Result): string {
  const checks = machineCheckLines(result).map(({ names, state, detail }) => [
    names,
    state,
    escapeCell(detail, 600),
  ])
  const { rows, notMeasured } = machineNumbers(result)
  return [
    table([['check', 'state', 'detail'], ...checks]),
    ...(rows.length === 0 ? [] : [table([MACHINE_HEAD, ...rows])]),
    ...(notMeasured.length === 0 ? [] : [`Not measured: ${notMeasured.join(', ')}.`]),
    ruleLink('What each check asks', 'checks'),
  ].join('\n\n')
}

function launchesText(result: Result): string {
  return [launchesTable(result), ...warmUpLines(result.experiment).map((line) => escapeCell(line, 600))].join(
    '\n\n',
  )
}

/** Nothing is dropped: warm-up launches, failed and unfinished ones are all here. */
function launchesTable({ outcomes, runs }: Result): string {
  const rows = outcomes.map((outcome) => {
    const { setAside } = outcome
    const summary = setAside?.summary ?? runs.find(({ runId }) => runId === outcome.run.id)
    return [
      runTitle(outcome.run),
      String(outcome.run.seed),
      `${statusText(outcome)}${setAside === null ? '' : '; does not count'}`,
      ...summaryCells(summary, outcome),
    ]
  })
  return table([
    [
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
    ],
    ...rows,
  ])
}

function statusText({ status, reason, message }: OutcomeLine): string {
  if (status === 'not-run') return `not run: ${WHY_NOT_RUN[reason ?? ''] ?? reason}`
  return [
    status,
    reason === null ? '' : `: ${reason}`,
    message === null ? '' : `, ${escapeCell(message)}`,
  ].join('')
}

const WHY_NOT_RUN: Readonly<Record<string, string>> = {
  decided: 'the verdict was decided',
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

function differencesTable({ differences, runs }: Result): string {
  const declared = differences.map(({ key, baseline, optimized }) => [
    escapeCell(key),
    value(baseline),
    value(optimized),
  ])
  const effective = effectiveDifferences(runs).map(([key, baseline, optimized]) => [
    `effective: ${escapeCell(key)}`,
    value(baseline),
    value(optimized),
  ])
  return table([['setting', 'baseline', 'optimized'], ...declared, ...effective])
}

/** What is really on, as the measured trainings read it back; only what differs. */
function effectiveDifferences(runs: readonly RunSummary[]): [string, unknown, unknown][] {
  const [baseline, optimized] = (['baseline', 'optimized'] as const).map(
    (variant) => runs.find((run) => run.variant === variant && isMeasured(run))?.effective ?? {},
  )
  const keys = [...new Set([...Object.keys(baseline ?? {}), ...Object.keys(optimized ?? {})])]
  return keys
    .filter((key) => baseline?.[key] !== optimized?.[key])
    .map((key) => [key, baseline?.[key], optimized?.[key]])
}

function environmentTable({ runs, revision, launches }: Result): string {
  const [run] = runs
  const rows = [
    ['devices', run ? `${run.worldSize} x ${[...new Set(run.deviceNames)].join(', ')}` : 'not measured'],
    ...Object.entries(run?.versions ?? {}),
    ['revision', revision ?? 'not in a git checkout'],
    ['measured', launches[0]?.startedAt ?? 'nothing was launched'],
  ]
  return table([['what', 'value'], ...rows.map((cells) => cells.map((cell) => escapeCell(cell)))])
}

function value(setting: unknown): string {
  return escapeCell(settingText(setting))
}

/** The fence is longer than any run of backticks inside, so that no text can close it. */
function codeBlock(language: string, text: string): string {
  const longest = [...text.matchAll(/`+/g)].reduce((most, [run]) => Math.max(most, run.length), 2)
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text}\n${fence}`
}

function folded(title: string, markdown: string): string {
  return `<details><summary>${title}</summary>\n\n${markdown}\n\n</details>`
}

function table(rows: readonly (readonly string[])[]): string {
  return markdownTable(rows.map((row) => [...row]))
}
