// A judged ladder -> its tables, for a terminal and as Markdown.
import { markdownTable } from 'markdown-table'
import { differenceText } from '../../report/setting.ts'
import { type JudgedLadder, judgeLadder, type RungResult } from '../judge.ts'
import type { LadderRecord, LadderRung } from '../record.ts'
import { legend } from './legend.ts'
import { sittingLines } from './sittings.ts'
import { MARKDOWN, type Style, TERMINAL } from './style.ts'
import { HEAD, row } from './table.ts'

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
  const whole = row('optimized variant', null, optimized, style)
  return [
    style.heading('Each rung alone'),
    markdownTable([HEAD, ...alone]),
    '',
    style.heading('Each on top of those before it'),
    markdownTable([HEAD, ...sum, whole]),
    '',
    style.heading('How to read it'),
    ...legend(record, judged, style).map(style.item),
    '',
    style.heading('Rungs'),
    ...rungNotes(judged).map((text) => style.item(style.line(text))),
    '',
    style.heading('Sittings'),
    ...sittingLines(record, judged).map((text) => style.item(style.line(text))),
  ].join('\n')
}

/** Untrusted texts, as they are. */
export function rungNotes({ rungs, optimized }: JudgedLadder): string[] {
  return [
    ...rungs.flatMap(({ rung, alone, sum }) => notesOf(rung, alone, sum)),
    ...problemsOf(optimized).map((text) => `optimized variant: ${text}`),
  ]
}

function notesOf(rung: LadderRung, alone: RungResult, sum: RungResult): string[] {
  const { name, needs, note } = rung
  const readBack = alone.readBack.length > 0 ? alone.readBack : sum.readBack
  const active = readBack.length === 0 ? [] : [`reads back ${readBack.map(differenceText).join(', ')}`]
  const needed = needs.length === 0 ? [] : [`alone with ${needs.join(', ')}, which it needs`]
  const said = [...active, ...needed, ...(note === null ? [] : [note])]
  return [
    ...(said.length === 0 ? [] : [`${name}: ${said.join('; ')}`]),
    ...problemsOf(alone).map((text) => `${name} alone: ${text}`),
    ...problemsOf(sum).map((text) => `sum up to ${name}: ${text}`),
    ...(rung.isLeftOut
      ? [
          `${name} is left out of later sums: ${rung.sum === null ? 'the trainer refuses it without a rung that failed' : 'its own sum failed'}`,
        ]
      : []),
  ]
}

function problemsOf({ measurement, problems }: RungResult): readonly string[] {
  return measurement.status === 'failed'
    ? [`failed, ${measurement.reason}: ${measurement.message}`]
    : problems
}
