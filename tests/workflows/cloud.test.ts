// cloud.yml: for whom it rents, what runs on the machine, who holds which secret, and that the last job always comes.
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { REPOSITORY } from '../harness/events.ts'
import { readOwnFile } from '../harness/workflow/files.ts'
import { dispatched, labeled, pushed, runOf } from '../harness/workflow/happenings.ts'
import { type Happening, type JobEnd, type JobRun, runWorkflow } from '../harness/workflow/run-workflow.ts'

const CALLER = 'tests/fixtures/workflows/calls-cloud.yml'
const LABEL = '["speedproof-1001-1"]'
const FINE: JobEnd = { result: 'success', outputs: { runner: LABEL } }

async function jobsOf(happening: Happening, ends: Readonly<Record<string, JobEnd>> = {}, path = CALLER) {
  const run = await runWorkflow(path, happening, async ({ id }) => ends[id] ?? FINE)
  return run.status === 'ran' ? run.jobs : []
}

const idsOf = (jobs: readonly JobRun[]) => jobs.map(({ id }) => id)

describe.each([
  ['a pull request of an own branch', pushed(), CALLER],
  ['a label on one', labeled('gpu', 'own branch'), CALLER],
  ['a push', { name: 'push', payload: { repository: { full_name: REPOSITORY } } }, CALLER],
  ['a person', dispatched(), 'examples/workflows/cloud.yml'],
] as const)('for %s', (_, happening, path) => {
  it('measures on the machine that was rented, and takes it down', async () => {
    const jobs = await jobsOf(happening, {}, path)
    expect(jobs.map(({ id, runsOn, permissions }) => [id, runsOn, permissions])).toEqual([
      ['start', 'ubuntu-latest', {}],
      ['measure', JSON.parse(LABEL), { contents: 'read' }],
      ['stop', 'ubuntu-latest', {}],
    ])
  })
})

it.each([
  ['a pull request of a fork', pushed('fork')],
  ['one of a fork that has been deleted', pushed('deleted fork')],
  ['a label on one of a fork', labeled('gpu', 'fork')],
  ['what another workflow did for a fork', ofFork(runOf('Performance', 'pull_request'))],
])('rents nothing for %s', async (_, happening) => {
  expect(idsOf(await jobsOf(happening))).toEqual([])
})

function ofFork(happening: Happening): Happening {
  const run = z.looseObject({}).parse(happening.payload.workflow_run)
  const workflow_run = { ...run, head_repository: { full_name: 'stranger/solver' } }
  return { ...happening, payload: { ...happening.payload, workflow_run } }
}

it.each([
  ['start', 'failure', ['start', 'stop']],
  ['start', 'cancelled', ['start', 'stop']],
  ['measure', 'failure', ['start', 'measure', 'stop']],
  ['measure', 'cancelled', ['start', 'measure', 'stop']],
] as const)('takes the machine down when %s ends in %s', async (id, result, jobs) => {
  const ends = { [id]: { result, outputs: { runner: LABEL } } }
  expect(idsOf(await jobsOf(pushed(), ends))).toEqual(jobs)
})

it('gives the last job ten minutes', () => {
  const { jobs } = z
    .object({ jobs: z.record(z.string(), z.looseObject({ 'timeout-minutes': z.number().optional() })) })
    .parse(parse(readOwnFile('.github/workflows/cloud.yml')))
  expect(jobs.stop?.['timeout-minutes']).toBe(10)
})

it('gives the registration token to the job that starts the machine, and to no other', async () => {
  const jobs = await jobsOf(pushed())
  const holders = jobs.filter(({ steps }) => JSON.stringify(steps).includes('secrets.runner-token'))
  expect(idsOf(holders)).toEqual(['start'])
  const measuring = jobs.find(({ id }) => id === 'measure')
  expect(JSON.stringify(measuring?.steps)).not.toContain('secrets.')
})

const inputsSchema = z.object({
  on: z.object({ workflow_call: z.object({ inputs: z.record(z.string(), z.unknown()) }) }),
})

it('hands every input of measure.yml on but those that a rented machine settles', () => {
  const { inputs } = inputsSchema.parse(parse(readOwnFile('.github/workflows/measure.yml'))).on.workflow_call
  // No ref: it would admit a fork's code. No noise floors: the machine keeps none.
  const settled = ['runner', 'queue', 'ref', 'job-timeout-minutes', 'noise-floors']
  const measuring =
    readOwnFile('.github/workflows/cloud.yml')
      .split(/^ {2}measure:$/m)[1]
      ?.split(/^ {2}stop:$/m)[0] ?? ''
  const handed = Array.from(
    measuring.matchAll(/^ {6}([\w-]+): \$\{\{ inputs\.\1 \}\}$/gm),
    ([, name]) => name,
  )
  expect(handed.toSorted()).toEqual(
    Object.keys(inputs)
      .filter((name) => !settled.includes(name))
      .toSorted(),
  )
})

it('hands what describes the machine to the action', () => {
  const inputs = Object.keys(
    inputsSchema.parse(parse(readOwnFile('.github/workflows/cloud.yml'))).on.workflow_call.inputs,
  )
  const action = z
    .object({ inputs: z.record(z.string(), z.unknown()) })
    .parse(parse(readOwnFile('.github/actions/cloud/action.yml')))
  const starting =
    readOwnFile('.github/workflows/cloud.yml')
      .split(/^ {2}start:$/m)[1]
      ?.split(/^ {2}measure:$/m)[0] ?? ''
  const handed = Array.from(
    starting.matchAll(/^ {10}([\w-]+): \$\{\{ inputs\.\1 \}\}$/gm),
    ([, name]) => name,
  )
  expect(handed.toSorted()).toEqual(
    Object.keys(action.inputs)
      .filter((name) => inputs.includes(name))
      .toSorted(),
  )
})
