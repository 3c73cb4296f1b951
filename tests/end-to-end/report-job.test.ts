// The privileged report job: it judges what a measuring job left, and says so on the pull request.
import { readdir } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { anExperiment } from '../fixtures/experiments/an-experiment.ts'
import { aFolder } from '../fixtures/processes/launching.ts'
import { GROUP_SHA, HEAD_SHA, mergeGroupEvent, queueBranch, workflowRunEvent } from '../harness/events.ts'
import { refuse } from '../harness/local-server.ts'
import { ARTIFACT, type Measured, measureForReport, report, servicesWith } from '../harness/report-job.ts'
import { measure, startMeasuring, startServices } from '../harness/speedproof.ts'

const CHECK = 'Speedproof: faulty/measure'
const FORK = { headRepository: 'contributor/solver', headBranch: 'main' }

let passed: Measured
let failed: Measured

beforeAll(async () => {
  passed = await measureForReport()
  failed = await measureForReport({ optimized: { step_seconds: 0.002 } })
})

it('a measuring job with report: artifact writes nothing on GitHub', () => {
  expect(passed.main).toMatchObject({ exitCode: 0, outputs: { verdict: 'passed', 'comment-url': '' } })
  expect(passed.main.lines).toContain('│ no comment and no check: report is artifact')
})

describe('a finished run', () => {
  it('gets comment, check and summary from the raw metrics', async () => {
    await using services = await servicesWith(passed)
    const { exitCode, outputs, summary, annotations } = await report(services)
    expect(exitCode).toBe(0)
    expect(outputs).toMatchObject({ verdict: 'passed', 'check-url': expect.stringContaining('/runs/500') })
    expect(services.github.checks).toMatchObject([
      { name: CHECK, head_sha: HEAD_SHA, status: 'completed', conclusion: 'success' },
    ])
    const [comment] = services.github.comments
    for (const text of [comment?.body, services.github.checks[0]?.output.summary, summary])
      expect(text).toContain('| ✅\u00A0speedup ')
    expect(comment?.body).toContain('by the experiment and gates of main at')
    expect(annotations).toMatchObject([{ level: 'notice' }])
  })

  it('gets an HTML report of this verdict, whatever page its artifact holds', async () => {
    await using services = await servicesWith(passed, { 'report.html': '<h1>forged</h1>' })
    await report(services)
    const page = String(services.artifacts.uploaded[`${ARTIFACT}.html`]?.[`${ARTIFACT}.html`])
    expect(page).toContain('<span class="badge passed">passed</span> faulty on this host')
    expect(page).not.toContain('forged')
    expect(services.github.comments[0]?.body).toMatch(/\[HTML report[^\]]*\]\(https:\S+\/artifacts\/42\)/)
  })

  it('keeps its verdict where the HTML report cannot be uploaded', async () => {
    await using services = await servicesWith(passed)
    services.artifacts.fail('CreateArtifact', { kind: 'answer', status: 400, body: {} })
    const { annotations } = await report(services)
    expect(services.github.checks).toMatchObject([{ conclusion: 'success' }])
    expect(services.github.comments[0]?.body).not.toContain('HTML report')
    expect(annotations).toContainEqual(
      expect.objectContaining({ level: 'warning', title: 'Speedproof: HTML report' }),
    )
  })

  it('that was cancelled in its second attempt does not show what the first has measured', async () => {
    await using services = await servicesWith(passed)
    const event = workflowRunEvent({ runAttempt: 2, conclusion: 'cancelled' })
    await report(services, { event })
    expect(services.github.checks).toMatchObject([{ status: 'completed', conclusion: 'cancelled' }])
  })

  it('whose second attempt re-ran another job shows what the first has measured, and names it', async () => {
    await using services = await servicesWith(passed)
    await report(services, { event: workflowRunEvent({ runAttempt: 2 }) })
    expect(services.github.checks).toMatchObject([{ conclusion: 'success' }])
    expect(services.github.comments[0]?.body).toContain('faulty-measure-attempt-1')
  })

  describe('whose second attempt measured again and left no artifact', () => {
    const begunAgain = '2026-11-20T11:00:00Z'
    const again = { runId: 1001, runAttempt: 2, startedAt: begunAgain, conclusion: 'failure' as const }

    it.each([
      ['in the job itself', 'measure', {}],
      ['in a called workflow', 'gpu / measure', {}],
      ['in a leg of a matrix', 'measure (big)', {}],
      ['with an artifact that the workflow named', 'measure', { 'artifact-name': ARTIFACT }],
    ])('has no verdict: %s', async (_, name, inputs) => {
      await using services = await servicesWith(passed)
      services.github.jobs.push({ ...again, name })
      await report(services, { event: workflowRunEvent({ runAttempt: 2, conclusion: 'failure' }), inputs })
      expect(services.github.checks).toMatchObject([
        { conclusion: 'failure', output: { title: expect.stringContaining('did not upload it') } },
      ])
    })

    it('has none either where the job is called otherwise, so that nobody knows', async () => {
      await using services = await servicesWith(passed)
      services.github.jobs.splice(0, 1, { ...again, name: 'Measure on the GPU' })
      await report(services, { event: workflowRunEvent({ runAttempt: 2 }) })
      expect(services.github.checks).toMatchObject([{ conclusion: 'failure' }])
    })

    it.each([
      ['the job has a name of its own', 'Measure on the GPU', 'measure'],
      ['measure-job names no job', 'measure', 'train'],
    ])(
      'has none where the workflow named the artifact and %s, and the reason says so',
      async (_, name, job) => {
        await using services = await servicesWith(passed)
        services.github.jobs.splice(0, 1, { ...again, name })
        const inputs = { 'artifact-name': ARTIFACT, 'measure-job': job }
        await report(services, { event: workflowRunEvent({ runAttempt: 2 }), inputs })
        const title = expect.stringContaining(`measure-job: GitHub lists no job called "${job}" in run 1001`)
        expect(services.github.checks).toMatchObject([{ conclusion: 'failure', output: { title } }])
      },
    )

    it('has the verdict of its own artifact once there is one', async () => {
      await using services = await servicesWith(passed)
      const [first] = services.github.archives
      services.github.jobs.push({ ...again, name: 'measure' })
      services.github.archives.push({
        name: ARTIFACT.replace('attempt-1', 'attempt-2'),
        runId: 1001,
        bytes: first?.bytes ?? Buffer.alloc(0),
        createdAt: '2026-11-20T11:30:00Z',
      })
      await report(services, { event: workflowRunEvent({ runAttempt: 2 }) })
      expect(services.github.checks).toMatchObject([{ conclusion: 'success' }])
    })
  })

  it('of a fork finds its pull request by repository and branch', async () => {
    await using services = await servicesWith(passed)
    Object.assign(services.github.pulls[0] ?? {}, FORK)
    services.github.pulls.unshift({
      number: 3,
      headSha: HEAD_SHA,
      headRepository: 'somebody/solver',
      headBranch: 'main',
      baseBranch: 'main',
      isOpen: true,
    })
    const { outputs } = await report(services, { event: workflowRunEvent(FORK) })
    expect(outputs['comment-url']).toContain('/pull/7#')
  })

  it('passes with a read-back key that every object has, and shows it', async () => {
    const name = 'runs/02-block-1-optimized/trainer/metrics.jsonl'
    const text = passed.files[name]?.toString() ?? ''
    const key = text.replace('"effective": {', '"effective": {"constructor": "fused", ')
    expect(key).not.toBe(text)
    await using services = await servicesWith(passed, { [name]: key })
    const { outputs } = await report(services)
    expect(outputs.verdict).toBe('passed')
    expect(services.github.comments[0]?.body).toMatch(/effective: constructor +\| absent +\| fused/)
  })

  it('without a pull request gets a check and no comment', async () => {
    await using services = await servicesWith(passed)
    services.github.pulls.length = 0
    const { exitCode } = await report(services)
    expect(exitCode).toBe(0)
    expect(services.github.checks).toMatchObject([{ conclusion: 'success' }])
    expect(services.github.comments).toEqual([])
  })

  it('whose pull request has moved on says which commit it is for', async () => {
    await using services = await servicesWith(passed)
    Object.assign(services.github.pulls[0] ?? {}, { headSha: 'd'.repeat(40) })
    await report(services)
    const stale = `These results are for ${HEAD_SHA}; the head of the pull request is ${'d'.repeat(40)}`
    expect(services.github.comments[0]?.body).toContain(stale)
    expect(services.github.checks).toMatchObject([{ head_sha: HEAD_SHA }])
  })

  it('into another branch than the default one gets a check of another name', async () => {
    await using services = await servicesWith(passed)
    Object.assign(services.github.pulls[0] ?? {}, { baseBranch: 'release' })
    services.github.files.release = { ...services.github.files.main }
    await report(services)
    expect(services.github.checks).toMatchObject([{ name: `${CHECK} (into release)` }])
  })

  it('is not unpacked where the project itself lies, and the check says why', async () => {
    await using services = await servicesWith(passed)
    const { folder } = await report(services, { inputs: { out: '.' } })
    expect(services.github.checks).toMatchObject([
      {
        conclusion: 'failure',
        output: { summary: expect.stringContaining('which contains the working directory') },
      },
    ])
    expect(await readdir(folder)).toEqual([])
  })

  it('is found by its earlier artifact when only another job was run again', async () => {
    await using services = await servicesWith(passed)
    await report(services, { event: workflowRunEvent({ runAttempt: 3 }) })
    expect(services.github.checks).toMatchObject([{ conclusion: 'success' }])
  })
})

it('the same run reports itself in a later job, where the trigger names the commit', async () => {
  await using services = await servicesWith(passed)
  const event = { name: 'workflow_dispatch', payload: { repository: { default_branch: 'main' } } }
  const { exitCode } = await report(services, { event, inputs: { 'head-sha': HEAD_SHA } })
  expect(exitCode).toBe(0)
  expect(services.github.checks).toMatchObject([{ head_sha: HEAD_SHA, conclusion: 'success' }])
  expect(services.github.comments).toHaveLength(1)
})

describe('a merge group', () => {
  const ofGroup = { event: 'merge_group', headSha: GROUP_SHA, headBranch: queueBranch() }

  it('that another run has measured gets the check on its head, and no comment', async () => {
    await using services = await servicesWith(passed)
    await report(services, { event: workflowRunEvent(ofGroup) })
    expect(services.github.checks).toMatchObject([
      { name: CHECK, head_sha: GROUP_SHA, conclusion: 'success' },
    ])
    expect(services.github.comments).toEqual([])
  })

  it('that the same run has measured gets it too', async () => {
    await using services = await servicesWith(passed)
    await report(services, { event: mergeGroupEvent() })
    expect(services.github.checks).toMatchObject([
      { name: CHECK, head_sha: GROUP_SHA, conclusion: 'success' },
    ])
  })

  it('of another branch is judged by the gates of that branch, under another name', async () => {
    await using services = await servicesWith(passed)
    services.github.files.release = {
      'experiment.yaml': passed.experiment.replace('at_least: 3', 'at_least: 9'),
    }
    await report(services, { event: workflowRunEvent({ ...ofGroup, headBranch: queueBranch('release') }) })
    await report(services, { event: mergeGroupEvent('release') })
    expect(services.github.checks).toMatchObject([{ name: `${CHECK} (into release)`, conclusion: 'failure' }])
  })

  it('whose job reports itself has the check from it', async () => {
    const folder = await anExperiment()
    await using services = await startServices()
    const { main } = await measure(folder, services, { event: mergeGroupEvent() })
    expect(main).toMatchObject({ exitCode: 0, outputs: { 'comment-url': '' } })
    expect(services.github.checks).toMatchObject([
      { name: CHECK, head_sha: GROUP_SHA, conclusion: 'success' },
    ])
  })
})

describe('a check', () => {
  it('is in progress from the request of a run on, then concludes', async () => {
    await using services = await servicesWith(passed)
    await report(services, { event: workflowRunEvent({ action: 'requested' }) })
    expect(services.github.checks).toMatchObject([{ name: CHECK, status: 'in_progress' }])
    await report(services)
    expect(services.github.checks).toMatchObject([{ status: 'completed', conclusion: 'success' }])
  })

  it('waits, and no comment says so, while the run of an outsider waits for approval', async () => {
    await using services = await servicesWith(passed)
    await report(services, { event: workflowRunEvent({ conclusion: 'action_required' }) })
    expect(services.github.checks).toMatchObject([
      { status: 'in_progress', output: { title: 'waits until a maintainer approves the workflow run' } },
    ])
    expect(services.github.comments).toEqual([])
    await report(services)
    expect(services.github.checks).toMatchObject([{ status: 'completed', conclusion: 'success' }])
  })

  it('does not open again for a request that comes late', async () => {
    await using services = await servicesWith(passed)
    await report(services)
    await report(services, { event: workflowRunEvent({ action: 'requested' }) })
    expect(services.github.checks).toMatchObject([{ status: 'completed', conclusion: 'success' }])
  })

  it('of a newer run is left alone', async () => {
    await using services = await servicesWith(passed)
    await report(services, { event: workflowRunEvent({ action: 'requested', runId: 1002 }) })
    const { exitCode, lines } = await report(services)
    expect(exitCode).toBe(0)
    expect(lines).toContain('│ no check: run 1002, attempt 1, is newer and has a check')
    expect(services.github.checks).toMatchObject([{ status: 'in_progress' }])
  })

  it('that cannot be written makes the report red, and comment and summary stay', async () => {
    await using services = await servicesWith(passed)
    const answer = refuse(403, 'Resource not accessible by integration')
    services.github.failNext('checks/create', answer)
    const { exitCode, annotations, summary } = await report(services)
    expect(exitCode).toBe(1)
    expect(annotations).toContainEqual(
      expect.objectContaining({ level: 'warning', message: expect.stringContaining('checks: write') }),
    )
    expect(summary).toContain('Speedproof: faulty passed')
    expect(services.github.comments).toHaveLength(1)
  })

  it('fails, and is not neutral, for a gate that is missed', async () => {
    await using services = await servicesWith(failed)
    const { exitCode } = await report(services)
    expect(exitCode).toBe(0)
    expect(services.github.checks).toMatchObject([
      { conclusion: 'failure', output: { title: expect.stringMatching(/^failed: speedup failed/) } },
    ])
  })

  it.each([
    ['failure', 'success'],
    ['cancelled', 'cancelled'],
  ])('is %s when a run that ended with %s left no artifact', async (conclusion, ended) => {
    await using services = await startServices()
    services.github.files.main = { 'experiment.yaml': passed.experiment }
    const { exitCode } = await report(services, { event: workflowRunEvent({ conclusion: ended }) })
    expect(exitCode).toBe(0)
    expect(services.github.checks).toMatchObject([
      { conclusion, output: { title: expect.stringContaining('run 1001 did not upload it') } },
    ])
    expect(services.github.comments[0]?.body).toContain('has no verdict')
  })
})

describe('the gates', () => {
  it('are those of the base branch, whatever the pull request was measured with', async () => {
    await using services = await servicesWith(passed)
    const stricter = passed.experiment.replace('at_least: 3', 'at_least: 5')
    services.github.files.main = { 'experiment.yaml': stricter }
    await report(services)
    expect(services.github.checks).toMatchObject([{ conclusion: 'failure' }])
    const body = services.github.comments[0]?.body
    expect(body).toContain('>= 5.00x')
    expect(body).toContain('made with another experiment than that of main')
    expect(body).toMatch(/gates\.speedup\.at&#95;least *\| 5 *\| 3 /)
  })

  it('find nothing to judge where another trainer, variant or environment was measured', async () => {
    await using services = await servicesWith(passed)
    const other = passed.experiment.replace('config: baseline.yaml', "$&\n    env: { SLOW: '1' }")
    services.github.files.main = { 'experiment.yaml': other }
    await report(services)
    expect(services.github.checks).toMatchObject([
      {
        conclusion: 'failure',
        output: {
          title: expect.stringMatching(
            /^invalid: measured with another variants\.baseline\.env\S* than the experiment of main has/,
          ),
        },
      },
    ])
  })

  it('may be set by the report workflow, which is not the pull request’s', async () => {
    await using services = await servicesWith(passed)
    await report(services, { inputs: { 'min-speedup': '6' } })
    expect(services.github.checks).toMatchObject([{ conclusion: 'failure' }])
  })

  it('without an experiment on the base branch there is no verdict, and no pass', async () => {
    await using services = await servicesWith(passed)
    services.github.files.main = {}
    const { exitCode, annotations } = await report(services)
    expect(exitCode).toBe(1)
    expect(annotations).toMatchObject([
      { level: 'error', message: expect.stringContaining('merge the experiment first') },
    ])
  })
})

describe('the commit that the record names', () => {
  const MERGE_SHA = 'e'.repeat(40)
  const WARNING = '> [!WARNING]'
  const shownFor = async (revision: string | null) => {
    const text = passed.files['result.json']?.toString() ?? ''
    const changed = text.replace(/^ {2}"revision": .*$/m, `  "revision": ${JSON.stringify(revision)},`)
    await using services = await servicesWith(passed, { 'result.json': changed })
    Object.assign(services.github.pulls[0] ?? {}, { mergeSha: MERGE_SHA })
    await report(services)
    return [services.github.comments[0]?.body ?? '', services.github.checks[0]?.output.summary ?? '']
  }

  it.each([
    ['is another one', 'd'.repeat(40), 'neither the head'],
    ['is the head with changes', `${HEAD_SHA}-dirty`, 'uncommitted changes'],
    ['is not there', null, 'names no commit'],
  ])('%s: comment and check warn, and say what was not seen', async (_, revision, said) => {
    for (const text of await shownFor(revision)) {
      expect(text).toContain(WARNING)
      expect(text).toContain(said)
      expect(text).toContain('Not seen: that the training ran at all')
    }
  })

  it.each([
    ['the head', HEAD_SHA],
    ['the merge that actions/checkout takes', MERGE_SHA],
  ])('is %s: no warning, and still what was not seen', async (_, revision) => {
    for (const text of await shownFor(revision)) {
      expect(text).not.toContain(WARNING)
      expect(text).toContain('Not seen: that the training ran at all')
    }
  })
})

it('outside its folds it fits one screen, with all that a pull request can change', async () => {
  const text = passed.files['result.json']?.toString() ?? ''
  const changed = text.replace(/^ {2}"revision": .*$/m, `  "revision": "${'d'.repeat(40)}-dirty",`)
  await using services = await servicesWith(passed, { 'result.json': changed })
  const slower = (run: string) =>
    passed.files[`runs/${run}/config.yaml`]?.toString().replace('{', '{ "slower": true, ') ?? ''
  const configs = {
    'baseline.yaml': slower('01-block-1-baseline'),
    'optimized.yaml': slower('02-block-1-optimized'),
  }
  Object.assign(services.github.files.main ?? {}, configs)
  await report(services)
  const body = services.github.comments[0]?.body ?? ''
  expect(body).toContain('other setting')
  const unfolded = body.replaceAll(/<details>.*?<\/details>|<!--.*?-->/gs, '')
  const lines = unfolded.split('\n').filter((line) => line.trim() !== '')
  expect(lines.length).toBeLessThanOrEqual(25)
  expect(unfolded.match(/[\p{L}\p{N}][^\s|]*/gu)?.length).toBeLessThanOrEqual(250)
})

describe('the configs', () => {
  const withConfigs = async (changes: Readonly<Record<string, string>>) => {
    const services = await servicesWith(passed)
    const ours = {
      'baseline.yaml': configOf('01-block-1-baseline'),
      'optimized.yaml': configOf('02-block-1-optimized'),
    }
    Object.assign(services.github.files.main ?? {}, ours, changes)
    return services
  }
  const configOf = (run: string) => passed.files[`runs/${run}/config.yaml`]?.toString() ?? ''
  const bodyFor = async (changes: Readonly<Record<string, string>>) => {
    await using services = await withConfigs(changes)
    await report(services)
    return services.github.comments[0]?.body ?? ''
  }

  it('that are those of the base branch are not spoken of', async () => {
    expect(await bodyFor({})).not.toMatch(/configs/i)
  })

  it('of which only the baseline was made slower are listed, in comment and check', async () => {
    const quicker = configOf('01-block-1-baseline').replace('0.004', '0.001')
    await using services = await withConfigs({ 'baseline.yaml': quicker })
    await report(services)
    const line = 'compared with main: baseline has one other setting; optimized is the same.'
    expect(services.github.comments[0]?.body).toContain(line)
    expect(services.github.comments[0]?.body).toMatch(/baseline +\| speed.step&#95;seconds \| 0.001 \| 0.004/)
    expect(services.github.checks[0]?.output.summary).toContain(line)
  })

  it('that the base branch does not have, or that are no mapping, are named as not compared', async () => {
    expect(await bodyFor({ 'baseline.yaml': '- 1', 'optimized.yaml': '{' })).toMatch(
      /baseline was not compared \(.+\); optimized was not compared \(.+\)\.$/m,
    )
  })
})

describe('the configs of a trainer that resolves them', () => {
  const ofBase = { steps: 20, speed: { step_seconds: 0.004 } }
  const optimized = { steps: 20, speed: { step_seconds: 0.001, switch: 'taken' } }
  const bodyFor = async (atHead: Readonly<Record<string, unknown>>, measured = ofBase) => {
    const record = JSON.parse(passed.files['result.json']?.toString() ?? '')
    record.experiment.trainer.validate_command = 'validate-config'
    // As it resolves them: with a default that no file has.
    record.configs = { baseline: { ...measured, seed: 1 }, optimized: { ...optimized, seed: 1 } }
    await using services = await servicesWith(passed, { 'result.json': JSON.stringify(record) })
    const experiment = passed.experiment.replace(/^trainer:$/m, '$&\n  validate_command: validate-config')
    expect(experiment).not.toBe(passed.experiment)
    const textsOf = (files: Readonly<Record<string, unknown>>) =>
      Object.fromEntries(Object.entries(files).map(([name, content]) => [name, JSON.stringify(content)]))
    services.github.files.main = {
      'experiment.yaml': experiment,
      ...textsOf({ 'baseline.yaml': ofBase, 'optimized.yaml': optimized }),
    }
    services.github.files[HEAD_SHA] = textsOf(atHead)
    await report(services)
    return services.github.comments[0]?.body ?? ''
  }
  const same = { 'baseline.yaml': ofBase, 'optimized.yaml': optimized }

  it('that are those of the base branch are not spoken of', async () => {
    expect(await bodyFor(same)).not.toMatch(/Configs, compared/)
  })

  it.each([
    ['in a section', { ...ofBase, speed: { ...ofBase.speed, pin_memory: false } }, 'speed.pin&#95;memory'],
    ['at the top', { ...ofBase, workers: 0 }, 'workers'],
  ])('to whose baseline alone the pull request adds a key are listed: %s', async (_, baseline, key) => {
    const body = await bodyFor({ ...same, 'baseline.yaml': baseline })
    expect(body).toContain('compared with main: baseline has one other setting; optimized has the same file')
    expect(body).toMatch(new RegExp(`baseline +\\| ${key} +\\| absent +\\|`))
  })

  it('in which a value differs are listed once', async () => {
    const slower = { ...ofBase, speed: { step_seconds: 0.008 } }
    expect(await bodyFor({ ...same, 'baseline.yaml': slower }, slower)).toContain(
      'baseline has one other setting;',
    )
  })

  it('whose file the head does not have are not called the same', async () => {
    const body = await bodyFor({ 'optimized.yaml': optimized })
    expect(body).toContain('baseline was compared only in the keys that both have')
    expect(body).not.toContain('is the same')
  })
})

describe('a report job that dies', () => {
  it.each([
    ['while the archive comes', 'actions/download-artifact'],
    ['before it has found the pull request', 'pulls/list'],
  ])('%s leaves a check that failed, whatever an earlier one said', async (_, operation) => {
    await using services = await servicesWith(passed)
    await report(services)
    expect(services.github.checks).toMatchObject([{ conclusion: 'success' }])
    services.github.failNext(operation, { kind: 'hanging' })
    const known = services.github.calls.length
    await using action = await startMeasuring(await aFolder(), services, {
      event: workflowRunEvent({ runAttempt: 2 }),
      inputs: { job: 'report' },
    })
    await expect.poll(() => services.github.calls.slice(known)).toContain(operation)
    process.kill(action.pid, 'SIGKILL')
    await action.finished
    expect(services.github.checks.at(-1)).toMatchObject({
      status: 'completed',
      conclusion: 'failure',
      output: { title: expect.stringContaining('ended before it had a verdict') },
    })
  })

  it('says nothing in its post step after it has ended well', async () => {
    await using services = await servicesWith(passed)
    await report(services)
    expect(services.github.checks).toMatchObject([{ conclusion: 'success' }])
  })
})
