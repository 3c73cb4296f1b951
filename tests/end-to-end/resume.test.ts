// An interrupted experiment goes on where it was, block by block, and refuses to mix what is not comparable.
import { existsSync } from 'node:fs'
import { appendFile, copyFile, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import {
  anExperiment,
  EXPERIMENT_FILE,
  type ExperimentChanges,
  TRAINERS,
} from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { speedproof, startSpeedproof } from '../harness/command-line.ts'

const PATIENCE = { timeout: 60_000, interval: 20 }

async function interruptedInBlockTwo(changes: ExperimentChanges = {}): Promise<string> {
  const folder = await anExperiment({ design: { blocks: 2 }, ...changes })
  await copyFile(join(TRAINERS, 'faulty.py'), join(folder, 'train.py'))
  await writeFile(join(folder, 'hold-04-block-2-baseline'), '')
  const running = startSpeedproof(folder, 'run', EXPERIMENT_FILE)
  // Block 2 starts with the optimized variant; its finished run alone is not a block.
  await vi.waitUntil(() => existsSync(join(folder, 'out/runs/04-block-2-baseline/log.txt')), PATIENCE)
  running.pressCtrlC()
  const goingOn = `\nTo continue: speedproof run --resume ${EXPERIMENT_FILE}\n`
  expect(await running.ended).toMatchObject({ exitCode: 130, stdout: expect.stringContaining(goingOn) })
  await rm(join(folder, 'hold-04-block-2-baseline'))
  return folder
}

it('keeps whole blocks, runs the rest again, and loses nothing', async () => {
  const folder = await interruptedInBlockTwo()
  const kept = join(folder, 'out/runs/01-block-1-baseline/trainer/metrics.jsonl')
  const before = await stat(kept)

  // Another limit, which changes nothing that was measured.
  const resumed = await speedproof(folder, 'run', EXPERIMENT_FILE, '--resume', '--timeout-minutes', '7')
  expect(resumed.exitCode).toBe(0)
  expect((await stat(kept)).mtimeMs).toBe(before.mtimeMs)
  const { outcomes } = await readResult(folder)
  expect(await readFile(join(folder, 'out/result.json'), 'utf8')).toContain('"timeout_minutes": 7')
  expect(outcomes.filter(({ status }) => status !== 'finished')).toEqual([]) // and why not, if not
  expect(outcomes).toHaveLength(4)
  expect(await readFile(join(folder, 'out/report.md'), 'utf8')).toContain('4 of 4 launches finished')
  expect(existsSync(join(folder, 'out/earlier'))).toBe(true)
})

it('refuses another experiment, and one that never began, before anything is run', async () => {
  const folder = await anExperiment()
  const nothing = await speedproof(folder, 'run', EXPERIMENT_FILE, '--resume')
  expect(nothing).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(
      new RegExp(
        `^--resume: ${join(folder, 'out')} has no result\\.json, .*--out, .*\nTo start without --resume: speedproof run ${EXPERIMENT_FILE}\n$`,
      ),
    ),
  })

  await speedproof(folder, 'run', EXPERIMENT_FILE)
  const other = await speedproof(folder, 'run', EXPERIMENT_FILE, '--resume', '--min-speedup', '2')
  const file = join(folder, 'out/result.json')
  expect(other).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(
      new RegExp(
        `${file} was measured with another experiment: gates.*3 -> 2.*\\. .* speedproof analyze ${file} with --`,
      ),
    ),
  })
  const longer = await speedproof(folder, 'run', EXPERIMENT_FILE, '--resume', '--blocks', '2')
  expect(longer).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('was measured with another experiment: design.looks: [{"blocks":1,'),
  })
})

it.each([
  ['metrics.jsonl', '01-block-1-baseline has no complete metrics: metrics.jsonl '],
  ['result.json', 'result.json: not JSON'],
])(
  'refuses a %s that was cut off, with what to restore and the call that starts again',
  async (name, text) => {
    const folder = await anExperiment()
    await speedproof(folder, 'run', EXPERIMENT_FILE)
    const file = join(
      folder,
      'out',
      name === 'metrics.jsonl' ? `runs/01-block-1-baseline/trainer/${name}` : name,
    )
    const whole = await readFile(file, 'utf8')
    await writeFile(file, whole.slice(0, whole.length / 2))
    const { exitCode, stderr } = await speedproof(folder, 'run', EXPERIMENT_FILE, '--resume')
    expect(exitCode).toBe(2)
    expect(stderr).toContain(text)
    expect(stderr).toMatch(/, restore them\n|\. Restore it, .*\. Or start without --resume\n/)
    expect(stderr).toMatch(/\nTo start without --resume: speedproof run experiment\.yaml\n$/)
  },
)

it('refuses blocks of trainings that would see another environment', async () => {
  const folder = await interruptedInBlockTwo()
  vi.stubEnv('OMP_NUM_THREADS', '3')
  const other = await speedproof(folder, 'run', EXPERIMENT_FILE, '--resume')
  vi.unstubAllEnvs()
  expect(other).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('was measured with another environment: environment.OMP_NUM_THREADS: '),
  })
})

it('refuses code that has changed before anything is run, and goes on once it is restored', async () => {
  const folder = await interruptedInBlockTwo({ trainer: { script: 'train.py' } })
  await appendFile(join(folder, 'train.py'), '# changed\n')
  const changed = await speedproof(folder, 'run', EXPERIMENT_FILE, '--resume')
  expect(changed).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/the trainer's sources have changed since 0\d-.*restore them/),
  })
  await copyFile(join(TRAINERS, 'faulty.py'), join(folder, 'train.py'))
  expect(await speedproof(folder, 'run', EXPERIMENT_FILE, '--resume')).toMatchObject({ exitCode: 0 })
})

it('refuses blocks of another commit, with what to bring back', async () => {
  const folder = await interruptedInBlockTwo()
  const file = join(folder, 'out/result.json')
  const earlier = JSON.parse(await readFile(file, 'utf8'))
  const revision = 'a'.repeat(40)
  const { baseline, optimized } = earlier.sources
  const sources = { baseline: { ...baseline, revision }, optimized: { ...optimized, revision } }
  await writeFile(file, JSON.stringify({ ...earlier, revision, sources }))
  const other = await speedproof(folder, 'run', EXPERIMENT_FILE, '--resume')
  expect(other).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(
      new RegExp(
        `^--resume: ${file} was measured at ${revision}, .* at no commit\\. Restore .*checkout, or start`,
      ),
    ),
  })
})

it('refuses to run a failed launch again until it passes', async () => {
  const folder = await anExperiment({ optimized: { fault: 'crash' } })
  expect(await speedproof(folder, 'run', EXPERIMENT_FILE)).toMatchObject({ exitCode: 1 })
  const again = await speedproof(folder, 'run', EXPERIMENT_FILE, '--resume')
  expect(again).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/has a failed launch, .*: 02-block-1-optimized, exit-code: /),
  })
})
