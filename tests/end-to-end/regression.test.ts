// A branch against its merge base, from the command line: two worktrees' worth of code, one verdict.
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { aRepository, commit, git, worktreesOf, write } from '../fixtures/experiments/a-repository.ts'
import { aWheel } from '../fixtures/experiments/a-wheel.ts'
import { EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { speedproof, startSpeedproof } from '../harness/command-line.ts'

const BASE = ['--base', 'main'] as const

/** Every step of the head then takes as many times as long as `factor`, an expression in Python, says. */
async function slowedBy(factor: string, changes: Parameters<typeof aRepository>[0] = {}): Promise<string> {
  const folder = await aRepository(changes)
  const trainer = await readFile(join(folder, 'train.py'), 'utf8')
  const slowed = trainer.replace('[settings.step_seconds *', `[${factor} * settings.step_seconds *`)
  expect(slowed).not.toBe(trainer)
  await write(folder, { 'train.py': slowed })
  await commit(folder, 'Change the step')
  return folder
}

it('an equal head passes, with both revisions in the report and no worktree left', async () => {
  const folder = await aRepository()
  const base = await git(folder, 'rev-parse', 'main')
  const head = await commit(folder, 'Change nothing')
  const { exitCode, stdout, stderr } = await speedproof(folder, 'run', EXPERIMENT_FILE, ...BASE)
  expect([exitCode, stderr]).toEqual([0, ''])
  expect(stdout).toContain(`revision: ${base} (merge-base) -> ${head}\n`)
  expect(stdout).toMatch(/\| speedup \|.*\| 1\.00x .*\| >= 0\.980x \| passed/)
  const result = JSON.parse(await readFile(join(folder, 'out/result.json'), 'utf8'))
  expect(result.sources).toEqual({
    baseline: { ref: 'merge-base', revision: base, lock: null },
    optimized: { ref: null, revision: head, lock: null },
  })
  expect(await worktreesOf(folder)).toEqual([])
  expect(existsSync(join(folder, 'out/worktrees/baseline'))).toBe(false)
  const again = await speedproof(folder, 'analyze', 'out/result.json')
  expect(again.exitCode).toBe(0)
})

it('a slowed head fails, whatever main has gained since', async () => {
  const folder = await slowedBy('3')
  await git(folder, 'checkout', '--quiet', 'main')
  await write(folder, { 'config.yaml': 'steps: 1\n' })
  await commit(folder, 'Go on')
  await git(folder, 'checkout', '--quiet', 'change')
  const { exitCode, stdout } = await speedproof(folder, 'run', EXPERIMENT_FILE, ...BASE)
  expect(exitCode).toBe(1)
  expect(stdout).toMatch(/\| speedup \|.*\| 0\.333x .*\| failed/)
})

it('a noisy head is inconclusive', async () => {
  const gates = { speedup: { at_least: 0.98 } }
  const folder = await slowedBy('(1.1 if seed % 2 else 0.9)', { gates, design: { blocks: 2 } })
  const { exitCode, stdout } = await speedproof(folder, 'run', EXPERIMENT_FILE, ...BASE)
  expect(stdout).toContain('speedup inconclusive')
  expect(exitCode).toBe(3)
})

it('a plan names the revisions, and leaves no worktree', async () => {
  const folder = await aRepository()
  const base = await git(folder, 'rev-parse', '--short=12', 'main')
  const { exitCode, stdout } = await speedproof(folder, 'plan', EXPERIMENT_FILE, ...BASE)
  expect(exitCode).toBe(0)
  expect(stdout).toContain(`| 01-block-1-baseline  | measured | baseline  | 1    | ${base} (merge-base) |`)
  expect(stdout).toContain('| 02-block-1-optimized | measured | optimized | 1    | working tree')
  expect(stdout).toMatch(
    /^regression: both revisions are .*, so the result cannot show the effect of a change\. Name another base$/m,
  )
  expect(await worktreesOf(folder)).toEqual([])
})

it('says that the working tree has uncommitted changes', async () => {
  const folder = await aRepository()
  const base = await git(folder, 'rev-parse', 'main')
  await write(folder, { 'train.py': `${await readFile(join(folder, 'train.py'), 'utf8')}\n` })
  const { stdout } = await speedproof(folder, 'plan', EXPERIMENT_FILE, ...BASE)
  expect(stdout).toContain(`revision: ${base} (merge-base) -> ${base} with uncommitted changes\n`)
})

it('says in its report what it took that is not in git, and where it left its results', async () => {
  const folder = await aRepository()
  await write(folder, { 'mine.yaml': await readFile(join(folder, EXPERIMENT_FILE), 'utf8') })
  const { exitCode } = await speedproof(folder, 'run', 'mine.yaml', ...BASE, '--out', 'mine')
  expect(exitCode).toBe(0)
  const report = await readFile(join(folder, 'mine/report.md'), 'utf8')
  expect(report).toMatch(/^# not in git: mine\.yaml\nspeedproof run mine\.yaml --out mine --base /m)
})

it('refuses a training that changed, and lists a key that is new', async () => {
  const folder = await aRepository()
  await write(folder, { 'config.yaml': 'steps: 30\nsmoothing: 0.1\nspeed: { step_seconds: 0.002 }\n' })
  const changed = await speedproof(folder, 'plan', EXPERIMENT_FILE, ...BASE)
  expect(changed.stderr).toContain('a regression experiment may differ only under speed:')
  expect(changed.stderr).toContain('steps (baseline 20, optimized 30)')
  expect(changed.exitCode).toBe(2)
  await write(folder, { 'config.yaml': 'steps: 20\nsmoothing: 0.1\nspeed: { step_seconds: 0.002 }\n' })
  const extended = await speedproof(folder, 'plan', EXPERIMENT_FILE, ...BASE)
  expect(extended.stdout).toContain('smoothing: absent -> 0.1')
})

it.each([
  ['config', 'variants.baseline.config', 'config.yaml', 'new.yaml'],
  ['trainer', 'trainer.script', 'train.py', 'train2.py'],
])('names a %s that the base does not have yet, and not where the base was checked out', async (...names) => {
  const [, key, known, added] = names
  const folder = await aRepository()
  const experiment = (await readFile(join(folder, EXPERIMENT_FILE), 'utf8')).replaceAll(known, added)
  await write(folder, { [EXPERIMENT_FILE]: experiment, [added]: await readFile(join(folder, known), 'utf8') })
  await commit(folder, `Name another ${known}`)
  const { exitCode, stderr } = await speedproof(folder, 'plan', EXPERIMENT_FILE, ...BASE)
  expect(stderr).toContain(
    `${key}: ${added} is not in revision merge-base of the baseline variant; merge it first, or name`,
  )
  expect(stderr).not.toContain('worktrees')
  expect(exitCode).toBe(2)
})

it('a cancelled run leaves no worktree, and can be resumed', async () => {
  const folder = await aRepository({ design: { blocks: 2 } })
  await writeFile(join(folder, 'hold-03-block-2-optimized'), '')
  const running = startSpeedproof(folder, 'run', EXPERIMENT_FILE, ...BASE)
  const second = join(folder, 'out/runs/03-block-2-optimized/log.txt')
  await vi.waitUntil(() => existsSync(second), { timeout: 60_000, interval: 20 })
  expect(await worktreesOf(folder)).toHaveLength(1)
  running.pressCtrlC()
  expect(await running.ended).toMatchObject({ exitCode: 130 })
  expect(await worktreesOf(folder)).toEqual([])

  await rm(join(folder, 'hold-03-block-2-optimized'))
  const resumed = await speedproof(folder, 'run', EXPERIMENT_FILE, ...BASE, '--resume')
  expect(resumed.exitCode).toBe(0)
  const { outcomes } = await readResult(folder)
  expect(outcomes.filter(({ status }) => status !== 'finished')).toEqual([]) // and why not, if not
  expect(outcomes).toHaveLength(4)
})

it('a killed run leaves a worktree that the next one replaces', async () => {
  const folder = await aRepository()
  const running = startSpeedproof(folder, 'run', EXPERIMENT_FILE, ...BASE)
  await running.waitForOutput('starting')
  running.kill()
  await running.ended
  expect(await worktreesOf(folder)).toHaveLength(1)
  await commit(folder, 'Go on')
  expect(await speedproof(folder, 'run', EXPERIMENT_FILE, ...BASE)).toMatchObject({ exitCode: 0 })
  expect(await worktreesOf(folder)).toEqual([])
})

it('runs each revision with the packages that its lock asks for', async () => {
  const folder = await aRepository({ launch: { requirements: 'requirements.lock' } })
  const trainer = await readFile(join(folder, 'train.py'), 'utf8')
  const withPackage = trainer
    .replace('import argparse', 'import argparse\nimport importlib.util')
    .replace('"effective": {', '"effective": {"tiny": bool(importlib.util.find_spec("tiny")), ')
  await git(folder, 'checkout', '--quiet', 'main')
  await write(folder, { 'train.py': withPackage, 'requirements.lock': aWheel(folder, '1.0') })
  await commit(folder, 'Use the package')
  await git(folder, 'checkout', '--quiet', '-B', 'change')
  await write(folder, { 'requirements.lock': aWheel(folder, '2.0') })
  await commit(folder, 'Raise the package')

  const first = await speedproof(folder, 'run', EXPERIMENT_FILE, ...BASE)
  expect([first.exitCode, first.stderr]).toEqual([0, ''])
  expect(first.stdout).toContain('making a Python environment from requirements.lock of merge-base')
  expect(first.stdout).toContain('package.tiny: 1.0 -> 2.0')
  const report = await readFile(join(folder, 'out/report.md'), 'utf8')
  expect(report).toMatch(/effective: tiny +\| true +\| false/)
  const second = await speedproof(folder, 'plan', EXPERIMENT_FILE, ...BASE)
  expect(second.stdout).not.toContain('making a Python environment')
  expect(second.stdout).toMatch(/^ {2}\S+\/out\/environments\/[0-9a-f]{16}\/bin\/python -m torch/m)
})
