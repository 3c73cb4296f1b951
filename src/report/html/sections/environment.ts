// On what was measured: devices, versions, revision, time.
import { environmentRows } from '../../sections/environment.ts'
import type { HtmlSection } from '../section.ts'
import { htmlTable } from '../table.ts'

export const environmentHtml: HtmlSection = ({ result }, _, { rows }) => ({
  title: 'Environment',
  body: htmlTable({ label: 'Environment', head: ['what', 'value'], rows: environmentRows(result) }, rows),
  charts: [],
})
