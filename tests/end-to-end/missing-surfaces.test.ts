// Without an artifact, a token or a pull request the verdict stays, and what was measured is on the other surfaces.
import { describe, expect, it } from 'vitest'
import { anExperiment } from '../fixtures/experiments/an-experiment.ts'
import { dispatchEvent } from '../harness/events.ts'
import { refuse } from '../harness/local-server.ts'
import { measure, startServices } from '../harness/speedproof.ts'

const ARTIFACT = 'speedproof-faulty-measure-attempt-1'
const passedNotice = { level: 'notice', title: 'Speedproof: faulty passed' }

describe('an artifact that cannot be uploaded is a warning', () => {
  it.each([
    ['its service is absent', undefined, /no artifact service/],
    ['its service refuses', refuse(403, 'storage quota is used up'), /artifact "speedproof-faulty-/],
  ])('when %s', async (_, answer, reason) => {
    const folder = await anExperiment()
    await using services = await startServices()
    if (answer) services.artifacts.fail('CreateArtifact', answer)
    const absent = { ACTIONS_RESULTS_URL: undefined, ACTIONS_RUNTIME_TOKEN: undefined }
    const { main } = await measure(folder, services, { environment: answer ? {} : absent })
    expect(main).toMatchObject({ exitCode: 0, outputs: { verdict: 'passed', 'artifact-url': '' } })
    expect(main.annotations).toMatchObject([
      passedNotice,
      { level: 'warning', title: 'Speedproof: artifact', message: expect.stringMatching(reason) },
    ])
    expect(main.summary).toContain('Speedproof: faulty passed')
    expect(services.github.comments).toHaveLength(1)
  })
})

describe('neither comment nor check is tried, and the verdict stays', () => {
  it.each([
    ['without a token', { inputs: { 'github-token': '' } }, 'no token'],
    ['when the run is not about a pull request', { event: dispatchEvent() }, 'not about a pull request'],
    ['when report is artifact', { inputs: { report: 'artifact' } }, 'report is artifact'],
  ])('%s', async (_, changes, reason) => {
    const folder = await anExperiment()
    await using services = await startServices()
    const { main } = await measure(folder, services, changes)
    expect(main).toMatchObject({ exitCode: 0, annotations: [passedNotice], outputs: { verdict: 'passed' } })
    expect(main.lines.find((line) => line.includes('no comment'))).toContain(reason)
    expect(services.github.calls).toEqual([])
    expect(services.artifacts.uploaded[ARTIFACT]).toHaveProperty('report.md')
  })
})
