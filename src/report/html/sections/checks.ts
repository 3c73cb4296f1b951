// Every check of comparability and of the machine, with what it found.
import { statusText } from '../../../text/wording.ts'
import { machineCheckLines } from '../../sections/machine.ts'
import { html } from '../html.ts'
import type { HtmlSection } from '../section.ts'
import { htmlTable } from '../table.ts'

const HEAD = ['check', 'state', 'detail']

export const checksHtml: HtmlSection = ({ result }, _, { rows }) => {
  const checks = result.verdict.checks.map(({ name, status, detail }) => [name, state(status), detail])
  const machine = machineCheckLines(result).map(({ names, status, detail }) => [names, state(status), detail])
  return {
    title: 'Checks',
    body: html`${htmlTable({ label: 'Checks of comparability', head: HEAD, rows: checks }, rows)}
${machine.length === 0 ? '' : html`<h4>Machine</h4>${htmlTable({ label: 'Checks of the machine', head: HEAD, rows: machine }, rows)}`}`,
    charts: [],
  }
}

function state(status: string) {
  return html`<span class="badge ${status}">${statusText(status)}</span>`
}
