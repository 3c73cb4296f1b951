// Somebody with write access accepts the missed gates of one measurement by a comment; nobody and nothing else does.
import { beforeAll, expect, it } from 'vitest'
import { commentEvent, HEAD_SHA, workflowRunEvent } from '../harness/events.ts'
import {
  ARTIFACT,
  archiveOf,
  type Measured,
  measureForReport,
  report,
  servicesWith,
} from '../harness/report-job.ts'

let failed: Measured

beforeAll(async () => {
  failed = await measureForReport({ optimized: { step_seconds: 0.002 } })
})

const accept = ({ sha = HEAD_SHA, run = '1001.1', gates = 'speedup' } = {}) =>
  `/speedproof accept faulty/measure ${sha} ${run} ${gates} the margin is known, see the log`

async function servicesWithPeople() {
  const services = await servicesWith(failed)
  Object.assign(services.github.permissions, { maintainer: 'write', reader: 'read', 'helper[bot]': 'write' })
  return services
}

it('an acceptance is offered with the line that makes it', async () => {
  await using services = await servicesWith(failed)
  await report(services)
  expect(services.github.comments[0]?.body).toContain(
    `/speedproof accept faulty/measure ${HEAD_SHA} 1001.1 speedup REASON`,
  )
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
  ['a maintainer for another commit', 'maintainer', accept({ sha: 'd'.repeat(40) })],
  ['a maintainer for the first digits of the commit', 'maintainer', accept({ sha: HEAD_SHA.slice(0, 12) })],
  ['a maintainer for another experiment', 'maintainer', accept().replace('faulty/', 'other/')],
  ['a maintainer for another run of the commit', 'maintainer', accept({ run: '1000.1' })],
  ['a maintainer for another attempt', 'maintainer', accept({ run: '1001.2' })],
  ['a maintainer for a gate that was not missed', 'maintainer', accept({ gates: 'loss_delta' })],
  [
    'a maintainer without run and gates',
    'maintainer',
    `/speedproof accept faulty/measure ${HEAD_SHA} the margin is known`,
  ],
  [
    'a maintainer without a reason',
    'maintainer',
    `/speedproof accept faulty/measure ${HEAD_SHA} 1001.1 speedup`,
  ],
  [
    'a maintainer who copies the line as it is',
    'maintainer',
    `/speedproof accept faulty/measure ${HEAD_SHA} 1001.1 speedup REASON`,
  ],
  ['a maintainer who quotes it', 'maintainer', `> ${accept()}`],
])('an acceptance by %s accepts nothing', async (_, author, body) => {
  await using services = await servicesWithPeople()
  services.github.addComments({ author, body })
  await report(services)
  expect(services.github.checks).toMatchObject([{ conclusion: 'failure' }])
})

it('an acceptance of a missed speedup does not hold for a later run that also misses the loss', async () => {
  const worse = await measureForReport({ optimized: { step_seconds: 0.002, val_loss: 9.5 } })
  await using services = await servicesWith(failed)
  services.github.permissions.maintainer = 'write'
  services.github.addComments({ author: 'maintainer', body: accept() })
  await report(services)
  expect(services.github.checks).toMatchObject([{ conclusion: 'neutral' }])
  services.github.archives.push({ name: ARTIFACT, runId: 1002, bytes: archiveOf(worse.files) })
  await report(services, { event: workflowRunEvent({ runId: 1002 }) })
  expect(services.github.checks.at(-1)).toMatchObject({ conclusion: 'failure' })
  const again = accept({ run: '1002.1' })
  services.github.addComments({ author: 'maintainer', body: again })
  await report(services, { event: workflowRunEvent({ runId: 1002 }) })
  expect(services.github.checks.at(-1)).toMatchObject({ conclusion: 'failure' })
  services.github.addComments({
    author: 'maintainer',
    body: accept({ run: '1002.1', gates: 'speedup,loss_delta' }),
  })
  await report(services, { event: workflowRunEvent({ runId: 1002 }) })
  expect(services.github.checks.at(-1)).toMatchObject({ conclusion: 'neutral' })
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
