// A passed experiment in the action, main and post, on a pull request with 250 older comments; then its re-run.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { renderMarker } from '../../src/report/github/comment-marker.ts'
import { anExperiment, EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { HEAD_SHA } from '../harness/events.ts'
import type { ActionResult } from '../harness/runner.ts'
import { measure, type Services, startServices } from '../harness/speedproof.ts'

const BOT = 'github-actions[bot]'
const RUNS = [
  '01-block-1-baseline',
  '02-block-1-optimized',
  '03-block-2-optimized',
  '04-block-2-baseline',
  '05-block-3-baseline',
  '06-block-3-optimized',
]
const INTERVAL_GATES = { speedup: { at_least: 3.0 }, loss_delta: { below: 0.001 } }

let folder: string
let services: Services
let first: ActionResult
let commentAfterFirst: string
let second: ActionResult

beforeAll(async () => {
  folder = await anExperiment({ design: { blocks: 3 }, gates: INTERVAL_GATES })
  services = await startServices()
  services.github.addComments(
    ...Array.from({ length: 250 }, (_, number) => ({ author: 'octocat', body: `remark ${number}` })),
  )
  first = await measure(folder, services)
  commentAfterFirst = services.github.comments.at(-1)?.body ?? ''
  await askForUnmeasured()
  second = await measure(folder, services, { environment: { GITHUB_RUN_ATTEMPT: '2' } })
})

afterAll(() => services[Symbol.asyncDispose]())

/** One block, and a gate on what this trainer does not report: inconclusive. */
async function askForUnmeasured(): Promise<void> {
  const file = join(folder, EXPERIMENT_FILE)
  const experiment: object = parse(await readFile(file, 'utf8'))
  const changes = { design: { blocks: 1, warm_up_launches: 0 }, gates: { peak_memory_gb: { below: 50 } } }
  await writeFile(file, stringify({ ...experiment, ...changes }))
}

const tableOf = (markdown: string) => markdown.split('\n\n').find((part) => part.startsWith('| gate'))

describe('a passed experiment', () => {
  it('is green, with one notice and nothing for post to do', () => {
    expect([first.main.exitCode, first.post?.exitCode]).toEqual([0, 0])
    expect(first.main.annotations).toMatchObject([{ level: 'notice', title: 'Speedproof: faulty passed' }])
    expect(first.post?.lines).toEqual([])
  })

  it('sets every output of action.yml', () => {
    const { speedup, 'speedup-lower-bound': bound, ...others } = first.main.outputs
    expect([Number(speedup), Number(bound)]).toEqual([expect.closeTo(4), expect.closeTo(4)])
    expect(others).toEqual({
      verdict: 'passed',
      reason: expect.stringContaining('speedup, loss_delta'),
      'loss-delta': '0',
      'loss-delta-upper-bound': '0',
      'result-file': join(folder, 'out', 'result.json'),
      'report-file': join(folder, 'out', 'report.md'),
      'artifact-url': 'https://github.com/octo-lab/solver/actions/runs/1001/artifacts/42',
      'comment-url': 'https://github.com/octo-lab/solver/pull/7#issuecomment-351',
      'check-url': 'https://github.com/octo-lab/solver/runs/500',
    })
  })

  it('is one comment, marked as ours and with the table of the job summary', () => {
    const marker = { key: 'faulty/measure', headSha: HEAD_SHA, runId: 1001, runAttempt: 1 }
    expect(commentAfterFirst.split('\n')[0]).toBe(renderMarker(marker))
    expect(tableOf(commentAfterFirst)).toMatchInlineSnapshot(`
      "| gate         | baseline      | optimized      | change | 95% confidence bounds | limit     | verdict |
      | ------------ | ------------- | -------------- | ------ | --------------------- | --------- | ------- |
      | ✅ speedup    | 250 us/sample | 62.5 us/sample | 4.00x  | 4.00x to 4.00x        | >= 3.00x  | passed  |
      | ✅ loss_delta | 0.02000       | 0.02000        | +0     | +0 to +0              | < 0.00100 | passed  |"
    `)
    expect(tableOf(first.main.summary)).toBe(tableOf(commentAfterFirst))
  })

  it('uploads the result, the report and the files of every run, and no cache', () => {
    const perRun = RUNS.flatMap((run) =>
      ['config.yaml', 'log.txt', 'machine.jsonl', 'trainer/metrics.jsonl'].map(
        (name) => `runs/${run}/${name}`,
      ),
    )
    const uploaded = services.artifacts.uploaded['speedproof-faulty-measure-attempt-1'] ?? {}
    expect(Object.keys(uploaded).sort()).toEqual(['report.html', 'report.md', 'result.json', ...perRun])
    expect(uploaded['report.md']?.toString()).toBe(first.main.summary.trimEnd().concat('\n'))
  })
})

it('uploads the HTML report a second time as a file that a browser shows, and the comment links to it', () => {
  const { uploaded } = services.artifacts
  const page = uploaded['speedproof-faulty-measure-attempt-1.html'] ?? {}
  const [text = ''] = Object.values(page).map(String)
  expect(text).toMatch(/^<!doctype html>/)
  expect(text).toBe(String(uploaded['speedproof-faulty-measure-attempt-1']?.['report.html']))
  expect(commentAfterFirst).toMatch(
    /\[HTML report[^\]]*\]\(https:\/\/github\.com\/octo-lab\/solver\/actions\/runs\/1001\/artifacts\/\d+\)/,
  )
})

describe('its re-run', () => {
  it('renews the one comment', () => {
    expect(second.main.outputs).toMatchObject({
      verdict: 'inconclusive',
      'comment-url': first.main.outputs['comment-url'],
    })
    const ours = services.github.comments.filter(({ author }) => author === BOT)
    expect(ours).toMatchObject([{ body: expect.stringContaining('Speedproof: faulty inconclusive') }])
    expect(services.github.comments).toHaveLength(251)
  })

  it('uploads its own result, without the earlier one that stays on disk', async () => {
    const uploaded = services.artifacts.uploaded['speedproof-faulty-measure-attempt-2'] ?? {}
    const [one = '', two = ''] = RUNS
    expect(Object.keys(uploaded).filter((path) => path.endsWith('log.txt'))).toEqual([
      `runs/${one}/log.txt`,
      `runs/${two}/log.txt`,
    ])
    expect(
      Object.keys(uploaded)
        .filter((path) => !path.startsWith('runs/'))
        .sort(),
    ).toEqual(['report.html', 'report.md', 'result.json'])
    const result = await readFile(join(folder, 'out', 'result.json'))
    expect(uploaded['result.json']).toEqual(result)
  })
})

it('leaves the comment of a newer run alone', async () => {
  const quick = await anExperiment()
  await using newerReported = await startServices()
  const marker = { key: 'faulty/measure', headSha: HEAD_SHA, runId: 1002, runAttempt: 1 }
  const newer = { author: BOT, body: `${renderMarker(marker)}\nthe newer result` }
  newerReported.github.addComments(newer)
  const { main } = await measure(quick, newerReported)
  expect(main).toMatchObject({ exitCode: 0, outputs: { 'comment-url': '' } })
  expect(main.lines).toContain('│ no comment: run 1002, attempt 1, is newer and has reported')
  expect(newerReported.github.comments).toMatchObject([newer])
})
