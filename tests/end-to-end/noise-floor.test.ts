// An A/A from the command line stores a floor that the next experiment on this machine is held against.
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { anExperiment, EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { speedproof } from '../harness/command-line.ts'

const FLOORS = ['--noise-floors', 'floors']

it('is stored by an A/A, found by the next experiment, and in its result.json', async () => {
  // Reported step seconds are drawn from the seed: equal in both halves, different between blocks.
  const folder = await anExperiment({
    baseline: { step_noise: 0.1 },
    optimized: { step_noise: 0.1 },
    design: { blocks: 2 },
  })
  const aa = await speedproof(folder, 'run', EXPERIMENT_FILE, '--mode', 'aa', '--blocks', '5', ...FLOORS)
  expect(aa).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('baseline against itself (A/A)') })
  expect(await readdir(join(folder, 'floors'))).toHaveLength(1)

  const next = await speedproof(folder, 'run', EXPERIMENT_FILE, ...FLOORS)
  expect(next).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/noise floor: passed, baseline runs scatter by/),
  })
  // From files alone: the folder of the floors is not asked again.
  const again = await speedproof(folder, 'analyze', 'out/result.json')
  expect(again.stdout).toMatch(/noise floor: passed, baseline runs scatter by/)
  const { verdict } = await readResult(folder)
  expect(verdict.checks).toContainEqual({ name: 'noise floor', status: 'passed' })
}, 300_000)

it('is kept when another experiment of the call breaks off', async () => {
  const folder = await anExperiment({ baseline: { step_noise: 0.1 }, optimized: { step_noise: 0.1 } })
  const text = await readFile(join(folder, EXPERIMENT_FILE), 'utf8')
  await writeFile(join(folder, 'other.yaml'), text.replace(/^name: .*$/m, 'name: other'))
  await mkdir(join(folder, 'out/other'), { recursive: true })
  await writeFile(join(folder, 'out/other/caches'), 'a file in the place of a folder')
  const both = [EXPERIMENT_FILE, 'other.yaml', '--mode', 'aa', '--blocks', '5', ...FLOORS]
  const { exitCode, stderr } = await speedproof(folder, 'run', ...both)
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('out/other/caches')])
  expect(await readdir(join(folder, 'floors'))).toHaveLength(1)
}, 300_000)

it('is what an experiment with one training under two names is told about', async () => {
  const folder = await anExperiment({ optimized: { step_seconds: 0.004, switch: undefined } })
  expect(await speedproof(folder, 'run', EXPERIMENT_FILE)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('baseline and optimized are the same training. Change a setting'),
  })
})

it('needs 10 runs', async () => {
  const folder = await anExperiment()
  expect(await speedproof(folder, 'run', EXPERIMENT_FILE, '--mode', 'aa', '--blocks', '4')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/^blocks: got 4, expected at least 5: .* 10 runs/),
  })
})

it('is refused before anything is launched where it could not be kept', async () => {
  const folder = await anExperiment()
  await writeFile(join(folder, 'floors'), 'a file in the place of the folder')
  expect(await speedproof(folder, 'run', EXPERIMENT_FILE, '--mode', 'aa', ...FLOORS)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(
      /^noise-floors: got ".*floors", which cannot be written \(.*floors is a file\); name another folder$/m,
    ),
  })
  // Where a recursive mkdir never comes back.
  const below = ['--mode', 'aa', '--noise-floors', '/proc/none/floors']
  expect(await speedproof(folder, 'run', EXPERIMENT_FILE, ...below)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('noise-floors: got "/proc/none/floors", which cannot be written (ENOENT'),
  })
  expect(existsSync(join(folder, 'out'))).toBe(false)
})
