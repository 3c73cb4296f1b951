// What every page has in common: one document with its style, its data and its script, which may load nothing.
import { createHash } from 'node:crypto'
import { PAGE_SCRIPT } from './bundled.ts'
import { type ChartSpec, shortSpec } from './chart-spec.ts'
import { type Html, html, jsonText, Html as Made } from './html.ts'
import { PAGE_STYLE } from './style.ts'

/** What GitHub and mail programs still take for a small file. */
export const MAX_PAGE_BYTES = 1_500_000

export interface PageText {
  /** Of the window. */
  readonly title: string
  readonly body: Html
  readonly charts: readonly ChartSpec[]
}

export function documentText({ title, body, charts }: PageText): string {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Made(contentSecurityPolicy())}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${new Made(PAGE_STYLE)}</style>
</head>
<body>
${body}
<script type="application/json" id="charts">${jsonText(charts.map(shortSpec))}</script>
<script>${new Made(PAGE_SCRIPT)}</script>
</body>
</html>
`
  return page.text
}

/** Neither style nor script but our own, and no request to anywhere. */
export function contentSecurityPolicy(): string {
  return [
    "default-src 'none'",
    `style-src '${sourceHash(PAGE_STYLE)}'`,
    `script-src '${sourceHash(PAGE_SCRIPT)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
}

function sourceHash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
