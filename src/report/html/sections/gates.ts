// Each gate: its interval against its limit with the blocks as points, and the table of the gates.

import { pairBlocks } from '../../../judge/blocks.ts'
import { isLevel } from '../../../judge/gates/gate-kind.ts'
import type { JudgedGate } from '../../../judge/gates/judge-gates.ts'
import type { Result } from '../../../record/result.ts'
import { statusText } from '../../../text/wording.ts'
import { gateCells, gateMeaning, tableHead } from '../../gates/gate-row.ts'
import { secondaryEvidence } from '../../secondary-evidence.ts'
import { type Html, html } from '../html.ts'
import { type GatePoint, gatePlot } from '../pictures/gate-plot.ts'
import type { HtmlSection } from '../section.ts'
import { htmlTable } from '../table.ts'

export const gatesHtml: HtmlSection = ({ result }, _, { rows, hasCharts }) => {
  const { gates } = result.verdict
  const shown = gates.slice(0, rows)
  const plots = hasCharts ? shown.map((gate) => gateFigure(gate, result)) : []
  return {
    title: 'Gates',
    body: html`<p class="note">Bar: the confidence interval. Small points: one for each block. Shaded: the side of the limit that passes.</p>
${plots}
${htmlTable({ label: 'Gates', head: tableHead(gates), rows: gates.map(gateCells) }, rows)}
<ul>${secondaryEvidence(result).map((line) => html`<li>${line}</li>`)}</ul>`,
    charts: [],
  }
}

function gateFigure(gate: JudgedGate, result: Result): Html {
  const { name, severity } = gate.gate
  return html`<figure class="gate"><figcaption><b>${name}</b> <span class="badge ${gate.status}">${statusText(gate.status)}</span>${severity === 'required' ? '' : html` ${severity} only`}</figcaption>
${gatePlot(gate, pointsOf(gate, result))}
<p class="note">${gateMeaning(gate)}</p></figure>`
}

/** A level has a value of each optimized run, a comparison one of each pair. */
function pointsOf({ gate, evidence }: JudgedGate, { runs }: Result): GatePoint[] {
  if (evidence === null) return []
  const blocks = pairBlocks(runs).map(({ block }) => block)
  return evidence.values.map((value, index) => ({
    name: `block ${blocks[index] ?? index + 1}${isLevel(gate) ? ', optimized' : ''}`,
    value: evidence.scale === 'log' ? Math.exp(value) : value,
  }))
}
