// The commands that repeat the experiment.
import { reproduceCommand } from '../../sections/reproduce.ts'
import { html, preformatted } from '../html.ts'
import type { HtmlSection } from '../section.ts'

export const reproduceHtml: HtmlSection = ({ result }) => ({
  title: 'Commands that repeat it',
  body: html`<pre tabindex="0" aria-label="Commands">${preformatted(reproduceCommand(result))}</pre>`,
  charts: [],
})
