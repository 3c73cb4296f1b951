// A judged ladder -> an HTML page: predicted beside measured for each rung, and the tables of the other reports.
import { type Html, html, NOTHING } from '../../report/html/html.ts'
import { documentText } from '../../report/html/page-parts.ts'
import { htmlTable } from '../../report/html/table.ts'
import { statusText } from '../../text/wording.ts'
import { type JudgedLadder, judgeLadder, type RungResult } from '../judge.ts'
import type { LadderRecord } from '../record.ts'
import { legend } from './legend.ts'
import { predictedRange } from './predicted.ts'
import { rungNotes } from './report.ts'
import { rungsPlot } from './rungs-plot.ts'
import { sittingLines } from './sittings.ts'
import type { Style } from './style.ts'
import { HEAD, row } from './table.ts'

/** Templates escape what they get. */
const PLAIN: Style = { cell: asItIs, line: asItIs, heading: asItIs, item: asItIs }
const MOST_ROWS = 200

export function renderLadderPage(record: LadderRecord): string {
  const judged = judgeLadder(record)
  const title = `Ladder of ${record.experiment.name}`
  return documentText({
    title,
    body: html`<header class="verdict ladder"><h1>${title}</h1></header>
<main>${pictures(judged)}
${tables(judged)}
${list('Rungs', rungNotes(judged))}
${list('How to read it', legend(record, judged, PLAIN))}
${list('Sittings', sittingLines(record, judged))}</main>`,
    charts: [],
  })
}

function pictures({ rungs }: JudgedLadder): Html {
  const of = (how: 'alone' | 'sum') =>
    rungs.slice(0, MOST_ROWS).map((one) => ({
      name: one.rung.name,
      predicted: predictedRange(one.rung.predicts),
      ...pick(one[how]),
    }))
  return html`<section><h3>Predicted and measured</h3>
<p class="note">Bar: the measured gain with its 95% interval. Orange: what was predicted, where that is a factor. Dashed: no change. Factors are on a logarithmic axis.</p>
${rungsPlot('Each rung alone', of('alone'))}
${rungsPlot('Each on top of those before it', of('sum'))}</section>`
}

function pick({ gain, verdict, measurement }: RungResult) {
  const why = measurement.status === 'failed' ? `failed: ${measurement.reason}` : statusText(verdict)
  return { gain, verdict, why }
}

function tables({ rungs, optimized }: JudgedLadder): Html {
  const alone = rungs.map(({ rung, alone }) => row(rung.name, rung, alone, PLAIN))
  const sum = rungs.map(({ rung, sum }) => row(rung.name, rung, sum, PLAIN))
  const whole = row('optimized variant', null, optimized, PLAIN)
  return html`<section><h3>Each rung alone</h3>${htmlTable({ label: 'Each rung alone', head: HEAD, rows: alone }, MOST_ROWS)}</section>
<section><h3>Each on top of those before it</h3>${htmlTable({ label: 'Each on top of those before it', head: HEAD, rows: [...sum, whole] }, MOST_ROWS)}</section>`
}

function list(title: string, lines: readonly string[]): Html {
  if (lines.length === 0) return NOTHING
  return html`<section><h3>${title}</h3><ul>${lines.slice(0, MOST_ROWS).map((line) => html`<li>${line}</li>`)}</ul></section>`
}

function asItIs(text: string): string {
  return text
}
