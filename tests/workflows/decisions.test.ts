// Which jobs an event starts, on which machine, with which permissions, and what a newer event does to them.
import { describe, expect, it } from 'vitest'
import { OVERRIDE_NAMES } from '../../src/config/overrides/overrides.ts'
import { HEAD_SHA, REPOSITORY } from '../harness/events.ts'
import { fillTexts } from '../harness/workflow/expressions.ts'
import { ownPath } from '../harness/workflow/files.ts'
import {
  commented,
  dispatched,
  labeled,
  pushed,
  queued,
  runOf,
  scheduled,
} from '../harness/workflow/happenings.ts'
import { type Happening, type JobEnd, type JobRun, runWorkflow } from '../harness/workflow/run-workflow.ts'

const OURS = '.github/workflows'
const EXAMPLES = 'examples/workflows'
/** What both jobs have to be given alike. */
const SETTINGS = ['experiment', 'leg', ...OVERRIDE_NAMES]
const WRITING = { actions: 'read', checks: 'write', contents: 'read', 'pull-requests': 'write' }
const PASSED: JobEnd = { result: 'success', outputs: { verdict: 'passed' } }

async function jobsOf(path: string, happening: Happening, end: JobEnd = PASSED): Promise<readonly JobRun[]> {
  const run = await runWorkflow(path, happening, async () => end)
  return run.status === 'ran' ? run.jobs : []
}

/** What the steps of a job that use it are given, without what they leave to it. */
function inputsOf(job: JobRun | undefined, uses: (uses: string) => boolean): Record<string, string> {
  const steps = job?.steps.filter((step) => uses(step.uses ?? '')) ?? []
  const given = Object.assign({}, ...steps.map((step) => fillTexts(step.with, job?.contexts ?? {})))
  return Object.fromEntries(Object.entries<string>(given).filter(([, value]) => value !== ''))
}
const isCheckout = (uses: string) => uses.startsWith('actions/checkout@')
const isOurs = (uses: string) => ownPath(uses) !== null

const brief = (jobs: readonly JobRun[]) =>
  jobs.map(({ name, runsOn, permissions }) => ({ name, runsOn, permissions }))

describe('ci.yml', () => {
  const groupOf = async (happening: Happening) => {
    const run = await runWorkflow(`${OURS}/ci.yml`, happening, async () => PASSED)
    return run.status === 'ran' ? run.concurrency : null
  }

  it('tests every commit of main, and of a pull request the newest', async () => {
    const payload = { repository: { full_name: REPOSITORY }, ref: 'refs/heads/main' }
    const onMain = (runId: number): Happening => ({ name: 'push', payload, runId })
    expect(await groupOf(onMain(1))).not.toEqual(await groupOf(onMain(2)))
    const first = await groupOf({ ...pushed(), runId: 1 })
    expect(first).toMatchObject({ 'cancel-in-progress': true })
    expect(await groupOf({ ...pushed(), runId: 2 })).toEqual(first)
  })
})

describe('a push to a pull request', () => {
  it.each([
    [`${OURS}/performance.yml`, 'own branch', 'smoke / measure', 'ubuntu-latest'],
    [`${OURS}/performance.yml`, 'fork', 'smoke / measure', 'ubuntu-latest'],
    [`${EXAMPLES}/pull-request.yml`, 'own branch', 'measure / measure', ['gpu-hosted-runner']],
    [`${EXAMPLES}/pull-request.yml`, 'fork', 'measure / measure', ['gpu-hosted-runner']],
  ] as const)('makes %s measure the %s with a token that only reads', async (path, head, name, runsOn) => {
    expect(brief(await jobsOf(path, pushed(head)))).toEqual([
      { name, runsOn, permissions: { contents: 'read' } },
    ])
  })

  it('of an own branch measures and reports each leg of a matrix, and only the reports may write', async () => {
    const jobs = await jobsOf(`${EXAMPLES}/matrix.yml`, pushed('own branch'))
    const reading = { contents: 'read' }
    expect(jobs.map(({ permissions }) => permissions)).toEqual([reading, reading, WRITING, WRITING])
    const legs = [
      { experiment: 'configs/experiments/my-change.yaml', leg: 'my-change' },
      { experiment: 'configs/experiments/long-sequences.yaml', leg: 'long-sequences' },
    ]
    expect(jobs.map(({ contexts }) => contexts.inputs)).toMatchObject([...legs, ...legs])
  })

  it.each(['fork', 'deleted fork'] as const)(
    'of a %s starts nothing that would comment itself',
    async (head) => {
      expect(await jobsOf(`${EXAMPLES}/matrix.yml`, pushed(head))).toEqual([])
    },
  )
})

describe.each([`${OURS}/performance.yml`, `${EXAMPLES}/pull-request.yml`])('a merge queue and %s', (path) => {
  it('measures its group with a token that only reads', async () => {
    const jobs = await jobsOf(path, queued())
    expect(jobs.map(({ permissions }) => permissions)).toEqual([{ contents: 'read' }])
  })

  it('cancels no run of another group, nor of a pull request', async () => {
    const groups = await Promise.all(
      [queued(), pushed()].map(async (happening) => {
        const run = await runWorkflow(path, happening, async () => PASSED)
        return run.status === 'ran' ? run.concurrency?.group : undefined
      }),
    )
    expect(groups).toEqual(['performance-1001', 'performance-7'])
  })
})

describe('a newer event', () => {
  async function groupsOf(path: string, happening: Happening) {
    const run = await runWorkflow(path, happening, async () => PASSED)
    if (run.status !== 'ran') throw new Error('not triggered')
    return { run: run.concurrency, jobs: run.jobs.map(({ concurrency }) => concurrency) }
  }

  it.each([`${OURS}/performance.yml`, `${EXAMPLES}/pull-request.yml`, `${EXAMPLES}/matrix.yml`])(
    'of the same pull request supersedes the run of %s',
    async (path) => {
      const [first, second] = [
        await groupsOf(path, pushed()),
        await groupsOf(path, pushed('own branch', 1002)),
      ]
      expect(first.run).toEqual(second.run)
      expect(first.run).toMatchObject({ group: expect.stringContaining('-7'), 'cancel-in-progress': true })
    },
  )

  it('waits for the GPU job that is running, and takes no place in the queue from another', async () => {
    const { jobs } = await groupsOf(`${EXAMPLES}/nightly.yml`, scheduled())
    expect(jobs).toEqual([{ group: 'speedproof-gpu', queue: 'max', 'cancel-in-progress': false }])
    const ofMatrix = (await groupsOf(`${EXAMPLES}/matrix.yml`, pushed())).jobs
    expect(ofMatrix.filter((group) => group !== null)).toEqual([...jobs, ...jobs])
  })

  it.each([`${OURS}/performance.yml`, `${EXAMPLES}/pull-request.yml`])(
    'does not wait for a job of %s, which has a hosted machine of its own',
    async (path) => {
      const [first] = (await groupsOf(path, pushed())).jobs
      const [second] = (await groupsOf(path, pushed('fork', 1002))).jobs
      expect(first?.group).not.toBe(second?.group)
    },
  )
})

describe.each([`${OURS}/benchmark.yml`, `${EXAMPLES}/benchmark.yml`])('%s', (path) => {
  it('hands what is typed into the form to the action', async () => {
    const form = {
      ...{ experiment: 'other.yaml', runner: '["self-hosted", "h200"]', preset: 'release', blocks: '8,12' },
      ...{
        seed: '100',
        'nproc-per-node': '4',
        'min-speedup': '2.5',
        'max-loss-delta': '0.002',
        ref: HEAD_SHA,
      },
    }
    const [job] = await jobsOf(path, dispatched(form))
    const { runner, ...inputs } = form
    expect(job?.runsOn).toEqual(['self-hosted', 'h200'])
    expect(job?.contexts.inputs).toMatchObject(inputs)
    expect(inputsOf(job, isOurs)).toMatchObject({ report: 'artifact' })
    expect(job?.permissions).toEqual({ contents: 'read' })
  })

  it('leaves to the experiment what the form leaves open', async () => {
    const [job] = await jobsOf(path, dispatched({ preset: 'experiment' }))
    expect(job?.contexts.inputs).toMatchObject({
      preset: '',
      blocks: '',
      seed: '',
      'min-speedup': '',
      ref: '',
    })
  })
})

describe.each([
  [`${OURS}/nightly.yml`, { preset: 'nightly' }],
  [`${EXAMPLES}/nightly.yml`, { blocks: '2,8,12,16' }],
])('%s', (path, ofANight) => {
  it('measures every night, with the blocks of a night', async () => {
    const jobs = await jobsOf(path, scheduled())
    expect(jobs.length).toBeGreaterThan(0)
    for (const job of jobs) {
      expect(job.contexts.inputs).toMatchObject(ofANight)
      expect(inputsOf(job, isOurs)).toMatchObject({ report: 'artifact' })
    }
  })

  it('leaves the nights of forks alone', async () => {
    expect(await jobsOf(path, scheduled(true))).toEqual([])
  })
})

describe.each([`${OURS}/gpu-check.yml`, `${EXAMPLES}/gpu-on-label.yml`])('%s', (path) => {
  it('measures the labeled commit of a fork without a write permission, and writes from another machine', async () => {
    const [measuring, reporting, ...others] = await jobsOf(path, labeled('gpu'))
    expect(others).toEqual([])
    expect(measuring).toMatchObject({ runsOn: ['self-hosted', 'gpu'], permissions: { contents: 'read' } })
    expect(inputsOf(measuring, isCheckout)).toMatchObject({ ref: HEAD_SHA, 'persist-credentials': 'false' })
    expect(inputsOf(measuring, isOurs)).toMatchObject({ report: 'artifact' })
    expect(reporting).toMatchObject({
      name: 'report / report',
      runsOn: 'ubuntu-latest',
      permissions: WRITING,
    })
  })

  // It admits jobs that stand in the workflow it names, and none that this calls.
  it('measures in a job of its own, as a runner group wants it, in turn', async () => {
    const [measuring] = await jobsOf(path, labeled('gpu'))
    expect(measuring?.name).toBe('measure')
    const [queued] = await jobsOf(`${EXAMPLES}/nightly.yml`, scheduled())
    expect(measuring?.concurrency).toEqual(queued?.concurrency)
  })

  it('reports what failed as well, and not what was cancelled', async () => {
    const names = async (result: JobEnd['result']) =>
      (await jobsOf(path, labeled('gpu'), { result, outputs: {} })).map(({ name }) => name)
    expect(await names('failure')).toEqual(['measure', 'report / report'])
    expect(await names('cancelled')).toEqual(['measure'])
  })

  it('starts nothing for another label, and cancels nothing by it', async () => {
    expect(await jobsOf(path, labeled('bug'))).toEqual([])
    const groups = await Promise.all(
      [labeled('gpu'), labeled('bug', 'fork', 1002)].map(async (happening) => {
        const run = await runWorkflow(path, happening, async () => PASSED)
        return run.status === 'ran' ? run.concurrency?.group : undefined
      }),
    )
    expect(groups).toEqual(['gpu-check-7', 'gpu-check-1002'])
  })

  it('reports alone when somebody accepts the verdict, and has no job for any other comment', async () => {
    const accept = commented(
      `/speedproof accept my-change/measure ${HEAD_SHA} 1001.1 speedup known and wanted`,
    )
    expect(brief(await jobsOf(path, accept))).toEqual([
      { name: 'report / report', runsOn: 'ubuntu-latest', permissions: WRITING },
    ])
    expect(await jobsOf(path, commented('How fast!'))).toEqual([])
    expect(await jobsOf(path, commented('/speedproof accept my-change/measure', 'issue'))).toEqual([])
  })

  it('is not started by a push', async () => {
    expect(await runWorkflow(path, pushed('fork'), async () => PASSED)).toEqual({ status: 'not triggered' })
  })
})

describe.each([`${OURS}/performance-report.yml`, `${EXAMPLES}/pull-request-report.yml`])('%s', (path) => {
  it.each([
    ['a pull request begins to be measured', runOf('Performance', 'pull_request', 'requested')],
    ['a pull request has been measured', runOf('Performance', 'pull_request')],
    ['a merge queue begins to measure a group', runOf('Performance', 'merge_group', 'requested')],
    ['a merge queue has measured a group', runOf('Performance', 'merge_group')],
    [
      'somebody accepts a verdict',
      commented(`/speedproof accept smoke/measure ${HEAD_SHA} 1001.1 speedup known and wanted`),
    ],
  ])('reports when %s, from a hosted machine', async (_, happening) => {
    expect(brief(await jobsOf(path, happening))).toMatchObject([
      { runsOn: 'ubuntu-latest', permissions: WRITING },
    ])
  })

  it.each([
    ['a run of the same name that is not about a pull request', runOf('Performance', 'push')],
    ['another workflow', runOf('CI', 'pull_request')],
    ['any other comment', commented('How fast!')],
    ['a comment on an issue', commented('/speedproof accept smoke/measure', 'issue')],
  ])('has no job for %s', async (_, happening) => {
    expect(await jobsOf(path, happening)).toEqual([])
  })
})

it.each([
  [`${OURS}/gpu-check.yml`, labeled('gpu'), `${OURS}/gpu-check.yml`, labeled('gpu')],
  [`${EXAMPLES}/gpu-on-label.yml`, labeled('gpu'), `${EXAMPLES}/gpu-on-label.yml`, labeled('gpu')],
  [
    `${OURS}/performance.yml`,
    pushed(),
    `${OURS}/performance-report.yml`,
    runOf('Performance', 'pull_request'),
  ],
  [
    `${EXAMPLES}/pull-request.yml`,
    pushed(),
    `${EXAMPLES}/pull-request-report.yml`,
    runOf('Performance', 'pull_request'),
  ],
])('%s is reported by the settings it has measured with', async (measuring, started, reporting, ended) => {
  const settingsOf = (job: JobRun | undefined) => {
    const { 'working-directory': folder = '.', ...inputs } = inputsOf(job, isOurs)
    return { folder, ...Object.fromEntries(SETTINGS.map((name) => [name, inputs[name]])) }
  }
  const measured = (await jobsOf(measuring, started)).find(({ id }) => id === 'measure')
  const reported = (await jobsOf(reporting, ended)).find(({ id }) => id === 'report')
  expect(settingsOf(measured)).toMatchObject({ experiment: expect.stringMatching(/^configs\/experiments\//) })
  expect(settingsOf(reported)).toEqual(settingsOf(measured))
})
