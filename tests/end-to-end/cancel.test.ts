// A cancelled or killed action leaves no process, tells what was measured, and never says passed.
import { existsSync } from 'node:fs'
import { rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { renderMarker } from '../../src/report/github/comment-marker.ts'
import { anExperiment, anExperimentByTorchrun, TRAINERS } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { HEAD_SHA } from '../harness/events.ts'
import { refuse } from '../harness/local-server.ts'
import { processesIn } from '../harness/processes.ts'
import { startMeasuring, startServices } from '../harness/speedproof.ts'

const STUBBORN = { fault: 'ignore-sigterm', fault_step: 15 }
const FORGED = '# forged: passed'

describe('a cancel', () => {
  it('while workers that ignore SIGTERM train ends them before the runner repeats its signal', async () => {
    const folder = await anExperimentByTorchrun({ optimized: STUBBORN, launch: { nproc_per_node: 2 } })
    await using services = await startServices()
    await using action = await startMeasuring(folder, services)
    await action.waitForLog('ignores SIGTERM')
    const { main, post, lastSignal } = await action.cancel()
    expect(lastSignal).toBe('SIGINT')
    expect(post).toMatchObject({ exitCode: 0, lines: [] })
    expect(processesIn(folder)).toEqual([])
    expect(main).toMatchObject({ exitCode: 1, outputs: { verdict: 'inconclusive' } })
    const { outcomes } = await readResult(folder)
    expect(outcomes.map(({ status }) => status)).toEqual(['finished', 'cancelled'])
    expect(services.artifacts.uploaded['speedproof-faulty-measure-attempt-1']).toHaveProperty('result.json')
    expect(services.github.comments[0]?.body).toContain('stopped early')
  })

  it('while torchrun starts leaves no process and a result', async () => {
    const folder = await anExperimentByTorchrun()
    await using services = await startServices()
    await using action = await startMeasuring(folder, services)
    await action.waitForLog('starting')
    const { main, post, lastSignal } = await action.cancel()
    expect(lastSignal).toBe('SIGINT')
    expect(post?.lines).toEqual([])
    expect(processesIn(folder)).toEqual([])
    expect(main).toMatchObject({ exitCode: 1, outputs: { verdict: 'inconclusive', speedup: '' } })
    expect((await readResult(folder)).outcomes).toMatchObject([
      { status: 'cancelled' },
      { status: 'not-run' },
    ])
  })

  it('during set-up ends what set-up has started and launches nothing', async () => {
    const trainer = { script: join(TRAINERS, 'slow_validation.py'), validate_command: 'validate-config' }
    const folder = await anExperiment({ trainer })
    await using services = await startServices()
    await using action = await startMeasuring(folder, services)
    await vi.waitUntil(() => existsSync(join(folder, 'validating')), 30_000)
    const { main, lastSignal } = await action.cancel()
    expect(lastSignal).toBe('SIGINT')
    expect(processesIn(folder)).toEqual([])
    expect(main).toMatchObject({ exitCode: 1 })
    expect(main.annotations).toMatchObject([
      { level: 'error', message: expect.stringContaining('cancelled') },
    ])
    expect(existsSync(join(folder, 'out'))).toBe(false)
  })
})

describe('post, after a kill', () => {
  it('ends the processes, keeps what was measured, and concludes what was in progress', async () => {
    const folder = await anExperimentByTorchrun({ optimized: STUBBORN })
    await using services = await startServices()
    const { github, artifacts } = services
    await using action = await startMeasuring(folder, services)
    await action.waitForLog('ignores SIGTERM')
    await vi.waitUntil(() => github.checks.length === 1 && github.comments.length === 1, 30_000)
    expect(github.checks).toMatchObject([{ name: 'Speedproof: faulty/measure', status: 'in_progress' }])
    expect(github.comments).toMatchObject([{ body: expect.stringContaining('launch 1 of at most 2') }])
    process.kill(action.pid, 'SIGKILL')
    const { main, post } = await action.finished
    expect(main).toMatchObject({ signal: 'SIGKILL', outputs: {} })
    expect(post).toMatchObject({ exitCode: 0 })
    expect(processesIn(folder)).toEqual([])
    expect(artifacts.uploaded['speedproof-faulty-measure-attempt-1']).toHaveProperty('result.json')
    expect(github.checks).toMatchObject([{ status: 'completed', conclusion: 'cancelled' }])
    expect(github.checks[0]?.output.summary).toContain('stopped early: 1 of 2 launches finished')
    expect(github.comments).toMatchObject([
      { body: expect.stringContaining('was stopped before it finished') },
    ])
  })

  it.each([
    ['writes a report of its own', (folder: string) => writeFile(join(folder, 'report.md'), FORGED)],
    [
      'links the report to another file',
      async (folder: string) => {
        await writeFile(join(folder, 'other.md'), FORGED)
        await rm(join(folder, 'report.md'))
        await symlink('other.md', join(folder, 'report.md'))
      },
    ],
    [
      'moves its folder and links to it',
      async (folder: string) => {
        await writeFile(join(folder, 'report.md'), FORGED)
        await rename(folder, `${folder}-moved`)
        await symlink(`${folder}-moved`, folder)
      },
    ],
    [
      'writes a result that cannot be read',
      async (folder: string) => {
        await writeFile(join(folder, 'report.md'), FORGED)
        await writeFile(join(folder, 'result.json'), '['.repeat(100_000))
      },
    ],
  ])('shows nothing that a training wrote: it %s', async (_, tamper) => {
    const folder = await anExperiment({ optimized: STUBBORN })
    await using services = await startServices()
    await using action = await startMeasuring(folder, services)
    await action.waitForLog('ignores SIGTERM')
    await tamper(join(folder, 'out'))
    process.kill(action.pid, 'SIGKILL')
    await action.finished
    const { checks, comments } = services.github
    expect(checks).toMatchObject([{ status: 'completed', conclusion: 'cancelled' }])
    expect(checks[0]?.output.summary).toContain('was stopped before it finished')
    expect(JSON.stringify([checks, comments])).not.toContain('forged')
  })

  it('says where what was measured is, if it cannot be uploaded', async () => {
    const folder = await anExperiment({ optimized: STUBBORN })
    await using services = await startServices()
    services.artifacts.fail('CreateArtifact', refuse(403, 'storage quota is used up'))
    await using action = await startMeasuring(folder, services)
    await action.waitForLog('ignores SIGTERM')
    process.kill(action.pid, 'SIGKILL')
    const { post } = await action.finished
    expect(post?.annotations).toMatchObject([
      {
        level: 'warning',
        title: 'Speedproof: artifact',
        message: expect.stringMatching(/Failed to CreateArtifact.*; the measurements are only in .*\/out$/),
      },
    ])
  })

  it('leaves the result of an earlier run in the comment', async () => {
    const folder = await anExperiment({ baseline: STUBBORN })
    await using services = await startServices()
    const marker = { key: 'faulty/measure', headSha: HEAD_SHA, runId: 900, runAttempt: 1 }
    services.github.addComments({
      author: 'github-actions[bot]',
      body: `${renderMarker(marker)}\n## the earlier result`,
    })
    await using action = await startMeasuring(folder, services)
    await action.waitForLog('ignores SIGTERM')
    process.kill(action.pid, 'SIGKILL')
    await action.finished
    const [comment] = services.github.comments
    expect(comment?.body).toContain('was stopped before it finished')
    expect(comment?.body).toContain('## the earlier result')
    expect(comment?.body).not.toContain('is being measured')
  })

  it('does not start a measurement when the cancel came before main had begun', async () => {
    const folder = await anExperiment()
    await using services = await startServices()
    // Main's process is there, and waits for ever before its first line; post's does not.
    const wait =
      'if(/index/.test(process.argv[1]))Atomics.wait(new(Int32Array)(new(SharedArrayBuffer)(4)),0,0)'
    const environment = { NODE_OPTIONS: `--import=data:text/javascript,${wait}` }
    await using action = await startMeasuring(folder, services, { environment })
    const { main, post } = await action.cancel()
    expect(main).toMatchObject({ signal: 'SIGINT', lines: [], state: {} })
    expect(post).toMatchObject({ exitCode: 0, lines: [] })
    expect(existsSync(join(folder, 'out'))).toBe(false)
  })
})
