// The last line of a comment: where the HTML report and the artifact are, or why there is no HTML report.
import { expect, test } from 'vitest'
import { linkSection } from '../../../src/report/github/sections.ts'

const measured = {
  key: 'smoke/measure',
  headSha: 'a'.repeat(40),
  runId: 1001,
  runAttempt: 1,
  runUrl: 'https://github.com/octo-lab/solver/actions/runs/1001',
  pull: null,
}
const artifactUrl = `${measured.runUrl}/artifacts/1`

test('links to the HTML report first', () => {
  const page = { status: 'uploaded' as const, url: `${measured.runUrl}/artifacts/2` }
  const { markdown } = linkSection(measured, { artifactUrl, page })
  expect(markdown).toMatch(/^\[HTML report[^\]]*\]\(\S+\/artifacts\/2\).*\[artifact\]\(\S+\/artifacts\/1\)/)
})

test('says why there is no HTML report, without what the reason would make of a comment', () => {
  const page = { status: 'not-made' as const, reason: 'no <b>memory</b> @octocat' }
  const { markdown } = linkSection(measured, { artifactUrl, page })
  expect(markdown).toContain('no HTML report: no &#60;b&#62;memory')
  expect(markdown).not.toContain('@octocat')
})

test.each([null, { status: 'not-uploaded' as const, reason: 'no service' }])(
  'says nothing of it for %j, which the log explains',
  (page) => {
    expect(linkSection(measured, { artifactUrl: null, page }).markdown).not.toContain('HTML')
  },
)
