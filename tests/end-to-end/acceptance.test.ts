// Somebody with write access accepts a failed gate for one commit by a comment; nobody and nothing else does.
import { beforeAll, expect, it } from 'vitest'
import { commentEvent, HEAD_SHA, workflowRunEvent } from '../harness/events.ts'
import { type Measured, measureForReport, report, servicesWith } from '../harness/report-job.ts'

let failed: Measured

beforeAll(async () => {
  failed = await measureForReport({ optimized: { step_seconds: 0.002 } })
})

const accept = (sha = HEAD_SHA) => `/speedproof accept faulty/measure ${sha} the margin is known, see the log`

async function servicesWithPeople() {
  const services = await servicesWith(failed)
  Object.assign(services.github.permissions, { maintainer: 'write', reader: 'read', 'helper[bot]': 'write' })
  return services
}

it('an acceptance is offered with the line that makes it', async () => {
  await using services = await servicesWith(failed)
  await report(services)
  expect(services.github.comments[0]?.body).toContain(`/speedproof accept faulty/measure ${HEAD_SHA} REASON`)
})

it('an acceptance by somebody with write access makes the check neutral, and is shown with its reason', async () => {
  await using services = await servicesWithPeople()
  await report(services)
  services.github.addComments({ author: 'maintainer', body: accept() })
  await report(services, { event: commentEvent() })
  const [check, ...others] = services.github.checks
  const comment = services.github.comments[0]?.body
  expect(check).toMatchObject({
    conclusion: 'neutral',
    output: { title: expect.stringMatching(/^accepted by maintainer, failed: /) },
  })
  expect(check?.output.summary).toContain('the margin is known')
  expect(comment).toContain('Accepted by [maintainer]')
  expect(comment).toContain('Speedproof: faulty failed')
  expect(others).toEqual([])
})

it.each([
  ['somebody who may only read', 'reader', accept()],
  ['somebody unknown to the repository', 'stranger', accept()],
  ['an app that may write, and may repeat what it is told', 'helper[bot]', accept()],
  ['a maintainer for another commit', 'maintainer', accept('d'.repeat(40))],
  ['a maintainer for the first digits of the commit', 'maintainer', accept(HEAD_SHA.slice(0, 12))],
  ['a maintainer for another experiment', 'maintainer', accept().replace('faulty/', 'other/')],
  ['a maintainer without a reason', 'maintainer', `/speedproof accept faulty/measure ${HEAD_SHA}`],
  [
    'a maintainer who copies the line as it is',
    'maintainer',
    `/speedproof accept faulty/measure ${HEAD_SHA} REASON`,
  ],
  ['a maintainer who quotes it', 'maintainer', `> ${accept()}`],
])('an acceptance by %s accepts nothing', async (_, author, body) => {
  await using services = await servicesWithPeople()
  services.github.addComments({ author, body })
  await report(services)
  expect(services.github.checks).toMatchObject([{ conclusion: 'failure' }])
})

it('an acceptance expires with the next push', async () => {
  await using services = await servicesWith(failed)
  services.github.permissions.maintainer = 'admin'
  services.github.addComments({ author: 'maintainer', body: accept() })
  const next = 'd'.repeat(40)
  Object.assign(services.github.pulls[0] ?? {}, { headSha: next })
  await report(services, { event: workflowRunEvent({ headSha: next }) })
  expect(services.github.checks).toMatchObject([{ head_sha: next, conclusion: 'failure' }])
})

it('an acceptance of a crash is not offered and does not count', async () => {
  const crashed = await measureForReport({ optimized: { fault: 'crash' } })
  await using services = await servicesWith(crashed)
  services.github.permissions.maintainer = 'write'
  services.github.addComments({ author: 'maintainer', body: accept() })
  await report(services)
  expect(services.github.checks).toMatchObject([{ conclusion: 'failure' }])
  expect(services.github.comments.at(-1)?.body).not.toContain('speedproof accept')
})
