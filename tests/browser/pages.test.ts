// The HTML report in a browser: it is drawn, says nothing in the console, loads nothing, fits a phone, and can be read by all.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import axe from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MAX_PAGE_BYTES } from '../../src/report/html/page-parts.ts'
import { openBrowser } from './browser.ts'
import { SCENES } from './scenes.ts'

/** To be looked at. */
const PICTURES = join(import.meta.dirname, '../../out/browser')

const VIEWS = {
  light: { viewport: { width: 1000, height: 800 }, colorScheme: 'light' },
  dark: { viewport: { width: 1000, height: 800 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 800 }, colorScheme: 'light', hasTouch: true },
} as const satisfies Record<string, BrowserContextOptions>
type View = keyof typeof VIEWS

let browser: Browser

beforeAll(async () => {
  await mkdir(PICTURES, { recursive: true })
  browser = await openBrowser()
})
afterAll(async () => await browser?.close())

interface Opened {
  readonly page: Page
  /** What the browser has said, and what it has asked for besides the page. */
  readonly trouble: string[]
}

async function open(name: string, view: View): Promise<Opened & AsyncDisposable> {
  const context = await browser.newContext({ ...VIEWS[view], offline: true })
  const page = await context.newPage()
  const trouble: string[] = []
  const url = pathToFileURL(join(PICTURES, `${name}.html`)).href
  page.on('console', (message) => trouble.push(message.text()))
  page.on('pageerror', (error) => trouble.push(error.message))
  page.on('request', (request) => {
    if (request.url() !== url) trouble.push(`asks for ${request.url()}`)
  })
  await page.goto(url)
  return { page, trouble, [Symbol.asyncDispose]: () => context.close() }
}

/** Folded parts are drawn when they are opened. */
async function drawAll(page: Page): Promise<void> {
  await page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
  await expect.poll(() => page.locator('[data-chart]:not(:has(canvas))').count()).toBe(0)
}

async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run()')
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`)
}

/** Together they have every colour. */
const COLOURFUL = ['crashed', 'inconclusive', 'several', 'ladder']

describe.each(Object.entries(SCENES))('%s', (name, sceneOf) => {
  beforeAll(async () => {
    const text = await sceneOf()
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_PAGE_BYTES)
    await writeFile(join(PICTURES, `${name}.html`), text)
  })

  test.each(Object.keys(VIEWS) as View[])('%s', async (view) => {
    await using opened = await open(name, view)
    const { page, trouble } = opened
    await expect.poll(() => page.locator('details:not([open]) canvas').count()).toBe(0)
    await page.screenshot({ path: join(PICTURES, `${name}-${view}.png`), fullPage: true })
    await drawAll(page)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
      VIEWS[view].viewport.width,
    )
    // The elements are the same in every view, the colours are those of two themes.
    if (view === 'light' || (view === 'dark' && COLOURFUL.includes(name)))
      expect(await seriousFindings(page)).toEqual([])
    expect(trouble).toEqual([])
  })
})

test('the pointer over a chart shows the numbers under it, in every chart of the timeline', async () => {
  await using opened = await open('passed', 'light')
  const { page } = opened
  await page.locator('[data-chart$="-step-time"] .u-over').hover()
  const legend = page.locator('[data-legend$="-step-time"]')
  await expect
    .poll(() => legend.textContent())
    .toMatch(/samples seen: \d+.*baseline 2\d\d ms.*optimized 5\d\.\d ms/)
  await page.locator('[data-chart$="-sm_clock_mhz"] .u-over').hover({ position: { x: 100, y: 20 } })
  await expect.poll(() => page.locator('[data-legend$="-power_watts"]').textContent()).toMatch(/\d W/)
})

test('the name of a folded experiment in the summary opens it', async () => {
  await using opened = await open('several', 'light')
  const { page } = opened
  expect(await page.locator('details.experiment[open]').count()).toBe(1)
  await page.getByRole('link', { name: 'two-task' }).click()
  await expect.poll(() => page.locator('#experiment-1[open] canvas').count()).toBeGreaterThan(0)
})

test('paper is white in a dark theme too', async () => {
  await using opened = await open('passed', 'dark')
  const { page } = opened
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  const paper = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  await expect.poll(paper).toBe('rgb(255, 255, 255)')
  await writeFile(join(PICTURES, 'passed.pdf'), await page.pdf({ format: 'A4' }))
})

test.each(['passed', 'failed', 'inconclusive', 'invalid'])(
  'the page of %s shows that verdict',
  async (name) => {
    await using opened = await open(name, 'light')
    expect(await opened.page.locator('h1 .badge').textContent()).toBe(name)
  },
)

test('text that is meant as markup makes no element', async () => {
  await using opened = await open('hostile-markup', 'light')
  expect(await opened.page.locator('img, iframe, object, link').count()).toBe(0)
  expect(await opened.page.locator('body').textContent()).toContain('<script>alert(1)</script>')
})
