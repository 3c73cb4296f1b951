// A judged ladder -> its tables, for a terminal and as Markdown.

import { markdownTable } from 'markdown-table'
import type { RunSummary } from '../measure/summary.ts'
import {
  DATA_WAIT_SHARE,
  HELD_OUT_LOSS,
  PEAK_MEMORY_RESERVED,
  SECONDS_PER_SAMPLE,
} from '../metrics/catalogue.ts'
import { escapeCell, oneLine } from '../report/escape.ts'
import { differenceText } from '../report/setting.ts'
import { bytes, confidence, number, percent, ratio, seconds, signed } from '../text/numbers.ts'
import { type WeakBracket, weakBrackets } from './brackets.ts'
import { type JudgedLadder, judgeLadder, NO_GAIN, type RungResult } from './judge.ts'
import { baselineOf, type Finished } from './measurement.ts'
import { CONFIDENCE, type Effect } from './noise.ts'
import type { LadderLaunch, LadderRecord, LadderRung, LadderTraining, Sitting } from './record.ts'

const HEAD = [
  'rung',
  'step',
  'speedup',
  'gain',
  'predicted',
  'peak reserved',
  'compile, capture',
  'held-out loss',
  'loss delta',
  'verdict',
]

interface Style {
  /** Makes somebody else's text harmless in a cell. */
  readonly cell: (text: string) => string
  /** The same in a line of its own, which may be long. */
  readonly line: (text: string) => string
  readonly heading: (text: string) => string
  readonly item: (text: string) => string
}

const MAX_LINE_CHARACTERS = 2000

const TERMINAL: Style = {
  cell: oneLine,
  line: oneLine,
  heading: (text) => text,
  item: (text) => `  ${text}`,
}
const MARKDOWN: Style = {
  cell: escapeCell,
  line: (text) => escapeCell(text, MAX_LINE_CHARACTERS),
  heading: (text) => `## ${text}\n`,
  item: (text) => `- ${text}`,
}

export function renderLadderTerminal(record: LadderRecord): string {
  return render(record, TERMINAL)
}

export function renderLadderMarkdown(record: LadderRecord): string {
  return `# Ladder of ${record.experiment.name}\n\n${render(record, MARKDOWN)}\n`
}

function render(record: LadderRecord, style: Style): string {
  const judged = judgeLadder(record)
  const { rungs, optimized } = judged
  const work = new Map(record.trainings.map(({ hash, otherWork }) => [hash, otherWork.length > 0]))
  const named = ({ name }: LadderRung, hash: string | null) =>
    hash !== null && work.get(hash) ? `${name} *` : name
  const alone = rungs.map(({ rung, alone }) => row(named(rung, rung.alone), rung, alone, style))
  const sum = rungs.map(({ rung, sum }) => row(named(rung, rung.sum), rung, sum, style))
  const optimizedRow = row('optimized variant', null, optimized, style)
  return [
    style.heading('Each rung alone'),
    markdownTable([HEAD, ...alone]),
    '',
    style.heading('Each on top of those before it'),
    markdownTable([HEAD, ...sum, optimizedRow]),
    '',
    style.heading('How to read it'),
    ...legend(record, judged, style).map(style.item),
    '',
    style.heading('Rungs'),
    ...[
      ...rungs.flatMap(({ rung, alone, sum }) => remarks(rung, alone, sum)),
      ...[...otherLaunchesOf(optimized), ...problemsOf(optimized)].map(
        (text) => `optimized variant: ${text}`,
      ),
    ].map((text) => style.item(style.line(text))),
    '',
    style.heading('Sittings'),
    ...record.sittings
      .flatMap((sitting, index) => [
        sittingText(sitting, index, judged.baselines[index] ?? []),
        ...weakBrackets(record, index, judged.baselines[index] ?? []).map(bracketText),
        ...record.launches
          .filter((launch) => launch.sitting === index)
          .flatMap((launch) => uncountedText(launch, record)),
      ])
      .map((text) => style.item(style.line(text))),
  ].join('\n')
}

function row(name: string, rung: LadderRung | null, result: RungResult, { cell }: Style): string[] {
  const { measurement, speedup, gain, verdict } = result
  const predicted = rung?.predicts ?? ''
  if (measurement.status !== 'finished') {
    const why = measurement.status === 'failed' ? `failed: ${measurement.reason}` : verdict
    return [cell(name), '', '', '', cell(predicted), '', '', '', '', why]
  }
  return [
    cell(name),
    stepText(measurement.summary),
    effectText(speedup),
    effectText(gain),
    cell(predicted),
    numberText(measurement.summary.metrics[PEAK_MEMORY_RESERVED], bytes),
    compileText(measurement),
    numberText(measurement.summary.metrics[HELD_OUT_LOSS], number),
    numberText(measurement.lossDelta ?? undefined, signed),
    verdict,
  ]
}

function stepText(run: RunSummary): string {
  const step = stepSeconds(run)
  return step === null ? 'no steady state' : seconds(step)
}

function stepSeconds({ metrics, samples, steps }: RunSummary): number | null {
  const time = metrics[SECONDS_PER_SAMPLE]
  return time === undefined ? null : (time * samples) / steps
}

function effectText(effect: Effect | null): string {
  if (effect === null) return 'not measured'
  const { bounds } = effect
  return bounds === null
    ? ratio(effect.ratio)
    : `${ratio(effect.ratio)} (${ratio(bounds.lower)} to ${ratio(bounds.upper)})`
}

function compileText({ compileSeconds, compileCache }: Finished): string {
  const state = compileCache === 'cold' || compileCache === 'warm' ? `, ${compileCache} cache` : ''
  return compileSeconds === 0 ? 'none' : `${seconds(compileSeconds)}${state}`
}

function numberText(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? 'not measured' : format(value)
}

function legend(record: LadderRecord, judged: JudgedLadder, { line }: Style): string[] {
  const { trainings, settings, experiment } = record
  const { noise } = judged
  const changed = trainings.filter(({ otherWork }) => otherWork.length > 0)
  const level = confidence(CONFIDENCE)
  return [
    'speedup: baseline / own seconds per sample in the steady state, against the mean of the baseline launches right before and after it.',
    'gain: the same against the training without this rung: alone, the baseline with what the rung needs; in the sum, all before it. The verdict is about it. Two launches of different sittings are compared by their speedups. Of several launches of a training the last counts that stands beside what it is compared with.',
    noise === null
      ? 'noise: unknown, since no sitting has two baseline launches; so no verdict.'
      : `noise: one launch scatters by ${percent(noise.deviation)} (standard deviation, from ${noise.differences} ${noise.differences === 1 ? 'pair' : 'pairs'} of neighbouring baseline launches). One launch for each rung, which is taken to scatter alike, and by what its own steps tell besides; in brackets its ${level} interval. One that holds 1.00x reads "no gain" if it ends below ${ratio(NO_GAIN)}, else "open"; of 20 rungs without effect, about one reads "gain" or "loss".`,
    `every launch with ${line(settingsText(experiment.design.seed, settings))}; loss delta: held-out loss - that of the baseline launches beside it.`,
    'not active: the trainer reads back the same settings as without it.',
    ...(changed.length > 0
      ? [`${line('*')} does other work than the baseline: ${line(workText(changed))}.`]
      : []),
    ...otherLaunches(record),
  ]
}

/** What was measured before --set or the experiment changed, or a rung that failed, and with it the sums after it. */
function otherLaunches({ trainings, launches }: LadderRecord): string[] {
  const others = launches.filter(({ training }) => !trainings.some(({ hash }) => hash === training))
  if (others.length === 0) return []
  const sittings = [...new Set(others.map(({ sitting }) => sitting + 1))]
  return [
    `${others.length} ${others.length === 1 ? 'launch' : 'launches'} of other settings, from sitting ${sittings.join(', ')}, kept in ladder.json and in none of these tables.`,
  ]
}

function settingsText(seed: number, settings: LadderRecord['settings']): string {
  const all = Object.entries(settings).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
  return [`seed ${seed}`, ...all].join(', ')
}

function workText(trainings: readonly LadderTraining[]): string {
  return [...new Set(trainings.flatMap(({ otherWork }) => otherWork))].join(', ')
}

function remarks(rung: LadderRung, alone: RungResult, sum: RungResult): string[] {
  const { name, needs, note } = rung
  const readBack = alone.readBack.length > 0 ? alone.readBack : sum.readBack
  const active = readBack.length === 0 ? [] : [`reads back ${readBack.map(differenceText).join(', ')}`]
  const needed = needs.length === 0 ? [] : [`alone with ${needs.join(', ')}, which it needs`]
  const parts = [...active, ...needed, ...(note === null ? [] : [note])]
  return [
    ...(parts.length === 0 ? [] : [`${name}: ${parts.join('; ')}`]),
    ...[...otherLaunchesOf(alone), ...problemsOf(alone)].map((text) => `${name} alone: ${text}`),
    ...[...otherLaunchesOf(sum), ...problemsOf(sum)].map((text) => `sum up to ${name}: ${text}`),
    ...(rung.isLeftOut
      ? [
          `${name} is left out of later sums: ${rung.sum === null ? 'without one that failed, the trainer refuses it' : 'it failed in its own'}`,
        ]
      : []),
  ]
}

/** Launches that no row has, since another one counts. */
function otherLaunchesOf({ others }: RungResult): string[] {
  const each = others.map(({ summary, sitting, logSpeedup }) => {
    const speedup = logSpeedup === null ? '' : `, ${ratio(Math.exp(logSpeedup))}`
    return `${stepText(summary)}${speedup} in sitting ${sitting + 1}`
  })
  return each.length === 0 ? [] : [`launched too, and not in the table: ${each.join('; ')}`]
}

function problemsOf({ measurement, problems }: RungResult): readonly string[] {
  return measurement.status === 'failed'
    ? [`failed, ${measurement.reason}: ${measurement.message}`]
    : problems
}

function sittingText(
  { startedAt, host, revision }: Sitting,
  index: number,
  baselines: readonly RunSummary[],
): string {
  const [first] = baselines
  const steps = baselines.flatMap((run) => stepSeconds(run) ?? [])
  const losses = baselines.flatMap(({ metrics }) => metrics[HELD_OUT_LOSS] ?? [])
  const waits = baselines.flatMap(({ metrics }) => metrics[DATA_WAIT_SHARE] ?? [])
  const devices =
    first === undefined ? [] : [`${first.deviceNames.length} x ${[...new Set(first.deviceNames)].join(', ')}`]
  const versions = Object.entries(first?.versions ?? {}).map(([name, version]) => `${name} ${version}`)
  return [
    `${index + 1}: ${startedAt.slice(0, 16).replace('T', ' ')} UTC on ${host}`,
    ...devices,
    ...versions,
    `code ${revision ?? sourcesText(first)}`,
    `${baselines.length} baseline ${baselines.length === 1 ? 'launch' : 'launches'}${rangeText(steps, seconds, ' a step')}${rangeText(waits, percent, ' of it waiting for data')}${rangeText(losses, number, '', 'held-out loss ')}`,
  ].join(', ')
}

/** Without git, as on a machine that a copy was carried to. */
function sourcesText(run: RunSummary | undefined): string {
  return run?.code ? `of the trainer with SHA-256 ${run.code.before.slice(0, 12)}` : 'unknown'
}

function bracketText({ launched, before, after, overFirst }: WeakBracket): string {
  const names = launched.join(', ')
  if (after === null) return `without a baseline launch after them, over the one before alone: ${names}`
  if (before === null) return `without a baseline launch before them, over the one after alone: ${names}`
  const steps = [before, after].map(stepText).join(' and ')
  const change = `${percent(Math.abs(overFirst - 1))} ${overFirst < 1 ? 'lower' : 'higher'}`
  return `between baseline launches of ${steps} a step: ${names}; over the first alone their speedups are ${change}`
}

/** A launch that no row shows, and why. */
function uncountedText(
  { launched: { outcome }, disturbance, training }: LadderLaunch,
  record: LadderRecord,
): string[] {
  const { id } = outcome.run
  if (disturbance !== null) return [`${id}: not counted: ${disturbance}`]
  if (outcome.status === 'cancelled') return [`${id}: cut, since the time was up or somebody cancelled it`]
  const isBaseline = training === baselineOf(record)
  return isBaseline && outcome.status === 'failed'
    ? [`${id}: failed, ${outcome.reason}: ${outcome.message}; without a baseline nothing could be compared`]
    : []
}

function rangeText(
  values: readonly number[],
  format: (value: number) => string,
  unit: string,
  name = '',
): string {
  if (values.length === 0) return ''
  const [low, high] = [format(Math.min(...values)), format(Math.max(...values))]
  return `, ${name}${low === high ? low : `${low} to ${high}`}${unit}`
}
