// What a section of the page is: a function of one experiment, which gives its HTML and the charts in it.
import type { Traces } from '../../measure/traces/traces.ts'
import type { Result } from '../../record/result.ts'
import type { ChartSpec } from './chart-spec.ts'
import type { Html } from './html.ts'

export interface ReportedExperiment {
  readonly result: Result
  readonly traces: Traces
}

/** How much of it a page has room for. */
export interface Detail {
  /** Of each table. */
  readonly rows: number
  readonly hasCharts: boolean
}

export interface PageSection {
  readonly title: string
  readonly body: Html
  readonly charts: readonly ChartSpec[]
}

/** `id`: starts the ids of its charts. Null leaves it out. */
export type HtmlSection = (reported: ReportedExperiment, id: string, detail: Detail) => PageSection | null
