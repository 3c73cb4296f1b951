// The browser of the system, headless: Debian's Chromium, or Chrome where there is one.
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

export async function openBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? PLACES.find((place) => existsSync(place))
  if (executablePath === undefined)
    throw new Error(`no browser among ${PLACES.join(', ')}. Install Debian's chromium, or set CHROMIUM`)
  // Root has no sandbox, and the pages are ours.
  return await chromium.launch({ executablePath, args: ['--no-sandbox'] })
}
