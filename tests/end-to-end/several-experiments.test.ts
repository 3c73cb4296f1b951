// Two questions in one call: is the optimized variant faster, and is this branch not slower than its base?
import { existsSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { stringify } from 'yaml'
import { aRepository, commit, worktreesOf, write } from '../fixtures/experiments/a-repository.ts'
import { EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { QUICK_PYTHON } from '../fixtures/processes/launching.ts'
import { speedproof, startSpeedproof } from '../harness/command-line.ts'
import { measure, startServices } from '../harness/speedproof.ts'

const BOTH = ['faster.yaml', EXPERIMENT_FILE]
const RESULTS = ['out/faster/result.json', 'out/regression/result.json']

/** Head and base are alike; the optimized variant is 4 times faster, and must be `limit` times. */
async function twoQuestions(limit: number, name = 'faster', speed = {}): Promise<string> {
  const folder = await aRepository()
  const variant = (seconds: number) => ({
    config: 'config.yaml',
    set: { 'speed.step_seconds': seconds, ...speed },
  })
  const experiment = {
    name,
    kind: 'same-work',
    trainer: { script: 'train.py' },
    launch: { python: QUICK_PYTHON },
    variants: { baseline: variant(0.004), optimized: variant(0.001) },
    design: { blocks: 1, warm_up_launches: 0 },
    gates: { speedup: { at_least: limit, evidence: 'point' } },
  }
  await write(folder, { 'faster.yaml': stringify(experiment) })
  await commit(folder, 'Ask another question')
  return folder
}

async function verdictsIn(folder: string): Promise<string[]> {
  const texts = await Promise.all(RESULTS.map((file) => readFile(join(folder, file), 'utf8')))
  return texts.map((text) => JSON.parse(text).verdict.verdict)
}

it('both well answered pass, and each keeps its own folder', async () => {
  const folder = await twoQuestions(3)
  const { exitCode, stdout, stderr } = await speedproof(folder, 'run', ...BOTH, '--base', 'main')
  expect([exitCode, stderr]).toEqual([0, ''])
  expect(stdout).toContain('✅ 2 experiments passed on this host: faster passed: ')
  expect(await verdictsIn(folder)).toEqual(['passed', 'passed'])
  const report = await readFile(join(folder, 'out/report.md'), 'utf8')
  expect(report.match(/^\| gate/gm)).toHaveLength(2)
  expect(await worktreesOf(folder)).toEqual([])
})

it('leave what an earlier call has reported in the same folder', async () => {
  const folder = await twoQuestions(3)
  await write(folder, { 'out/.speedproof': '', 'out/report.md': 'of an earlier experiment' })
  expect(await speedproof(folder, 'run', ...BOTH, '--base', 'main')).toMatchObject({ exitCode: 0 })
  const [earlier = ''] = await readdir(join(folder, 'out/earlier'))
  const kept = await readFile(join(folder, 'out/earlier', earlier, 'report.md'), 'utf8')
  expect(kept).toBe('of an earlier experiment')
})

it('are refused with a report of somebody else in the folder of their own', async () => {
  const folder = await twoQuestions(3)
  await write(folder, { 'out/report.md': 'mine' })
  const { exitCode, stderr } = await speedproof(folder, 'run', ...BOTH, '--base', 'main')
  expect([exitCode, stderr]).toEqual([
    2,
    expect.stringContaining('which already has report.md that Speedproof did not write'),
  ])
  expect(await readdir(join(folder, 'out'))).toEqual(['report.md'])
})

it('one that fails fails both, and analyze and report take the same', async () => {
  const folder = await twoQuestions(5)
  const { exitCode, stdout } = await speedproof(folder, 'run', ...BOTH, '--base', 'main')
  expect(exitCode).toBe(1)
  expect(stdout).toMatch(/❌ 1 of 2 experiments failed on this host: faster failed: .*; regression passed/)
  expect(await verdictsIn(folder)).toEqual(['failed', 'passed'])
  const analyzed = await speedproof(folder, 'analyze', ...RESULTS)
  expect(analyzed.exitCode).toBe(1)
  expect(stdout).toContain(analyzed.stdout.trim())
  const reported = await speedproof(folder, 'report', ...RESULTS)
  expect(reported.stdout.trim()).toBe((await readFile(join(folder, 'out/report.md'), 'utf8')).trim())
})

it('a cancel in the first leaves the second unlaunched, and both can be resumed', async () => {
  const folder = await twoQuestions(3)
  await writeFile(join(folder, 'hold-02-block-1-optimized'), '')
  const running = startSpeedproof(folder, 'run', ...BOTH, '--base', 'main')
  const log = join(folder, 'out/faster/runs/02-block-1-optimized/log.txt')
  await vi.waitUntil(() => existsSync(log), { timeout: 60_000, interval: 20 })
  running.pressCtrlC()
  expect(await running.ended).toMatchObject({ exitCode: 130 })
  expect(await verdictsIn(folder)).toEqual(['inconclusive', 'inconclusive'])
  expect(await worktreesOf(folder)).toEqual([])
  await rm(join(folder, 'hold-02-block-1-optimized'))
  const resumed = await speedproof(folder, 'run', ...BOTH, '--base', 'main', '--resume')
  expect(resumed.exitCode).toBe(0)
  expect(await verdictsIn(folder)).toEqual(['passed', 'passed'])
})

it('a plan has both, and two of one name are refused before anything is run', async () => {
  const folder = await twoQuestions(3)
  const plan = await speedproof(folder, 'plan', ...BOTH, '--base', 'main')
  expect(plan.stdout.match(/^\S+: 2 launches/gm)).toEqual(['faster: 2 launches', 'regression: 2 launches'])
  const baseless = await speedproof(folder, 'plan', ...BOTH)
  expect(baseless.exitCode).toBe(2)
  expect(baseless.stderr).toMatch(/^experiment\.yaml: variants\.baseline\.revision: got "merge-base"/)
  const clash = await speedproof(await twoQuestions(3, 'regression'), 'run', ...BOTH, '--base', 'main')
  expect(clash.exitCode).toBe(2)
  expect(clash.stderr).toContain('faster.yaml, experiment.yaml: name: got "regression" in both')
})

it('launch nothing more once one may have left a process, and are inconclusive', async () => {
  const folder = await twoQuestions(3, 'faster', { 'speed.fault': 'kill-reaper' })
  const { exitCode, stdout, stderr } = await speedproof(folder, 'run', ...BOTH, '--base', 'main')
  expect(exitCode).toBe(1)
  expect(stderr).toContain('a process of the training may be left: reaper.py')
  expect(stdout).toContain('2 experiments inconclusive on this host: ')
  expect(stdout).toContain('Report: out/report.md   Result: out/regression/result.json\n')
  expect(await readdir(join(folder, 'out/faster/runs'))).toEqual(['01-block-1-baseline'])
  expect(await readdir(join(folder, 'out/regression/runs'))).toEqual([])
})

it('the action makes one comment and one artifact of both', async () => {
  const folder = await twoQuestions(3)
  await using services = await startServices()
  const { main } = await measure(folder, services, { inputs: { experiment: BOTH.join('\n'), base: 'main' } })
  expect(main).toMatchObject({ exitCode: 0, outputs: { verdict: 'passed' } })
  expect(main.outputs['result-file']).toBe(RESULTS.map((file) => join(folder, file)).join('\n'))
  expect(services.github.comments).toHaveLength(1)
  expect(services.github.comments[0]?.body.match(/^\| gate/gm)).toHaveLength(2)
  const uploaded =
    services.artifacts.uploaded['speedproof-faster-regression-measure-15d37370-attempt-1'] ?? {}
  expect(Object.keys(uploaded)).toEqual(
    expect.arrayContaining(['report.md', 'report.html', 'faster/result.json', 'regression/result.json']),
  )
})
