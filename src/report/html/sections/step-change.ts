// What changed inside the step, from the traced launches: where its time goes, and which operators and kernels took it.
import { VARIANTS } from '../../../config/experiment.ts'
import type { Profiles } from '../../../measure/profile/profile.ts'
import {
  changeOf,
  type Explained,
  type StepChange,
  stepChange,
} from '../../../measure/profile/step-change.ts'
import type { Result } from '../../../record/result.ts'
import { bytes, number, percent } from '../../../text/numbers.ts'
import { milliseconds, signedMilliseconds, tracingCost } from '../../sections/step-change.ts'
import { type Html, html, NOTHING } from '../html.ts'
import { changesPlot } from '../pictures/changes-plot.ts'
import { stackedBars } from '../pictures/stacked-bars.ts'
import type { Detail, HtmlSection } from '../section.ts'
import { htmlTable, tableBehind } from '../table.ts'

export const stepChangeHtml: HtmlSection = ({ result }, _, detail) => {
  const { profiles } = result
  if (profiles === null) return null
  const change = stepChange(profiles)
  const problems = VARIANTS.flatMap((variant) =>
    profiles[variant].problems.map((problem) => html`<li>${variant}: ${problem}</li>`),
  )
  return {
    title: 'What changed inside the step',
    body: html`${change === null ? html`<p class="note">No step of both variants could be traced.</p>` : changeParts(change, result, detail)}
${memoryParts(profiles, detail)}
${problems.length === 0 ? NOTHING : html`<ul>${problems}</ul>`}`,
    charts: [],
  }
}

function changeParts(change: StepChange, result: Result, detail: Detail): Html {
  const { baseline, optimized } = change.stepMilliseconds
  return html`<p>A traced step takes ${milliseconds(baseline)} in the baseline and ${milliseconds(optimized)} in the optimized training. ${tracingCost(change, result)} The times below are of the traced steps, and decide nothing.</p>
${kindsPart(change, detail)}
${changesPart('operators', change.operators, detail)}
${changesPart('kernels', change.kernels, detail)}`
}

/** As many colours as the style has for parts; more kinds than that share the last one. */
const TONES = ['steps', 'start', 'compile', 'checkpoint', 'evaluation', 'teal', 'pink', 'rest'] as const

function kindsPart({ kinds }: StepChange, { hasCharts, rows }: Detail): Html {
  const table = {
    label: 'Where the time of a step goes',
    head: ['where the time goes', ...VARIANTS, 'change'],
    rows: kinds.map((row) => [
      row.name,
      ...VARIANTS.map((variant) => milliseconds(row.milliseconds[variant])),
      signedMilliseconds(changeOf(row)),
    ]),
  }
  if (!hasCharts) return htmlTable(table, rows)
  const parts = kinds.slice(0, rows).map(({ name, milliseconds: values }, index) => ({
    name,
    tone: TONES[index] ?? 'rest',
    values,
  }))
  const title = 'Where the time of a traced step goes'
  return stackedBars({ title, parts, valueText: milliseconds, whyNone: 'no step traced' }, table, rows)
}

const MOST_BARS = 12

function changesPart(
  what: 'operators' | 'kernels',
  { rows: changed, share, rowsLeft }: Explained,
  { hasCharts, rows }: Detail,
): Html {
  if (share === null) return NOTHING
  const bars = changed.slice(0, MOST_BARS).map((row) => ({
    name: row.name,
    value: changeOf(row),
    text: signedMilliseconds(changeOf(row)),
  }))
  const table = {
    label: `The ${what} that changed most`,
    head: [what, ...VARIANTS, 'change', 'launches'],
    rows: changed.map((row) => [
      row.name,
      ...VARIANTS.map((variant) => milliseconds(row.milliseconds[variant])),
      signedMilliseconds(changeOf(row)),
      `${number(row.launches.baseline)} to ${number(row.launches.optimized)}`,
    ]),
  }
  return html`${hasCharts ? changesPlot(`The ${what} that changed most`, bars) : NOTHING}
${tableBehind(`Table of the ${what}`, table, rows)}
<p class="note">These ${what} have ${percent(share)} of all that became longer or shorter.${rowsLeft > 0 ? html` The rest is in ${rowsLeft} others.` : NOTHING}</p>`
}

function memoryParts(profiles: NonNullable<Profiles>, { rows }: Detail): readonly Html[] {
  return VARIANTS.flatMap((variant) => {
    const { memory } = profiles[variant]
    if (!memory) return []
    const shares = Object.entries(memory.categories).map(([name, value]) => [name, bytes(value)])
    const blocks = memory.largest.map(({ bytes: size, where }) => [where, bytes(size)])
    const label = `Memory at the peak of a traced step, ${variant}`
    return [
      html`<h4>${label}: ${bytes(memory.peak_bytes)}</h4>
${htmlTable({ label, head: ['category', 'size'], rows: shares }, rows)}
${tableBehind('The largest blocks', { label: `${label}, the largest blocks`, head: ['where it was made', 'size'], rows: blocks }, rows)}`,
    ]
  })
}
