// The experiments of one call -> one HTML page that needs nothing else, of bounded size.
import type { Combined } from '../../record/combined.ts'
import type { Result } from '../../record/result.ts'
import { statusText } from '../../text/wording.ts'
import type { ChartSpec } from './chart-spec.ts'
import { type Html, html, NOTHING } from './html.ts'
import { documentText, MAX_PAGE_BYTES } from './page-parts.ts'
import type { Detail, PageSection, ReportedExperiment } from './section.ts'
import { HTML_SECTIONS } from './sections/index.ts'
import { htmlTable } from './table.ts'

/** The first that fits is taken. */
const DETAILS: readonly (Detail & { readonly experiments: number })[] = [
  { rows: 400, hasCharts: true, experiments: 200 },
  { rows: 40, hasCharts: true, experiments: 200 },
  { rows: 40, hasCharts: false, experiments: 200 },
  { rows: 5, hasCharts: false, experiments: 20 },
]

/** Of each curve; shared by all experiments, since they stand in one file. */
export function pointsPerCurve(experiments: number): number {
  return Math.max(20, Math.floor(200 / Math.max(1, experiments)))
}

/** `reported`: in the order of the results. */
export function renderPage(combined: Combined, reported: readonly ReportedExperiment[]): string {
  for (const detail of DETAILS) {
    const page = pageWith(combined, reported, detail)
    if (Buffer.byteLength(page) <= MAX_PAGE_BYTES) return page
  }
  // Texts, rows and experiments are all bounded, so the last one always fits.
  throw new Error(`the page has more than ${MAX_PAGE_BYTES} bytes`)
}

function pageWith(
  combined: Combined,
  reported: readonly ReportedExperiment[],
  detail: (typeof DETAILS)[number],
): string {
  const shown = reported.slice(0, detail.experiments)
  const parts = shown.map((one, index) => experimentPart(one, index, combined, detail))
  const left = reported.length - shown.length
  return documentText({
    title: `Speedproof: ${combined.name} ${combined.verdict}`,
    body: html`${combined.results.length === 1 ? NOTHING : summary(combined, detail)}
<main>${parts.map(({ body }) => body)}</main>
${left === 0 ? NOTHING : html`<p class="note">${left} more experiments are in their result.json.</p>`}
<footer><p>Drag over a chart to zoom in, double-click to zoom out. Made by Speedproof from recorded metrics.</p></footer>`,
    charts: parts.flatMap(({ charts }) => charts),
  })
}

/** One verdict over all, and a line for each. */
function summary({ verdict, reason, results }: Combined, { experiments }: (typeof DETAILS)[number]): Html {
  const rows = results
    .slice(0, experiments)
    .map(({ experiment, verdict: own }, index) => [
      html`<a href="#${experimentId(index)}">${experiment.name}</a>`,
      badge(own.verdict),
      own.reason,
    ])
  return html`<header class="verdict ${verdict}"><h1>${badge(verdict)} ${results.length} experiments</h1><p>${reason}</p></header>
<nav aria-label="Experiments">${htmlTable({ label: 'Experiments', head: ['experiment', 'verdict', 'why'], rows }, experiments)}</nav>`
}

function experimentPart(
  reported: ReportedExperiment,
  index: number,
  { results }: Combined,
  detail: Detail,
): { body: Html; charts: readonly ChartSpec[] } {
  const { result } = reported
  const id = experimentId(index)
  const sections = HTML_SECTIONS.flatMap((section) => section(reported, id, detail) ?? [])
  const head = headOf(result, results.length === 1)
  const body = html`${head}${sections.map(sectionHtml)}`
  return {
    // What passed is folded, so that a reader sees the others.
    body:
      results.length === 1
        ? body
        : html`<details class="experiment" id="${id}"${result.verdict.verdict === 'passed' ? NOTHING : html` open`}><summary>${badge(result.verdict.verdict)} ${result.experiment.name}</summary>${body}</details>`,
    charts: sections.flatMap(({ charts }) => charts),
  }
}

function experimentId(index: number): string {
  return `experiment-${index + 1}`
}

/** The badge says the verdict. It speaks for one host, and whoever repeats a measurement is seen to. */
function experimentTitle({ experiment: { name, mode }, attempt }: Result): string {
  const again = attempt !== null && attempt > 1 ? `, in attempt ${attempt} of its workflow run` : ''
  return `${name}${mode === 'aa' ? ' (A/A)' : ''} on this host${again}`
}

function headOf(result: Result, isAlone: boolean): Html {
  const { verdict } = result
  const title = html`${badge(verdict.verdict)} ${experimentTitle(result)}`
  return html`<header class="verdict ${verdict.verdict}">${isAlone ? html`<h1>${title}</h1>` : html`<h2>${title}</h2>`}
<p><b>Why:</b> ${verdict.reason}</p>
${verdict.warnings.length === 0 ? NOTHING : html`<p><b>Warnings</b></p><ul>${verdict.warnings.slice(0, MOST_WARNINGS).map((warning) => html`<li>${warning}</li>`)}</ul>`}
</header>`
}

const MOST_WARNINGS = 30

function sectionHtml({ title, body }: PageSection): Html {
  return html`<section><h3>${title}</h3>
${body}
</section>`
}

function badge(verdict: string): Html {
  return html`<span class="badge ${verdict}">${statusText(verdict)}</span>`
}
