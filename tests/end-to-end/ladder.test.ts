// `speedproof ladder` with a trainer that does as told: rungs that gain, do nothing and fail, in one sitting and in two.
import { mkdir, readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { anExperiment, EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { ROOT } from '../fixtures/processes/launching.ts'
import { type Ended, speedproof } from '../harness/command-line.ts'

const LATE_CLOCK = join(ROOT, 'tests', 'fixtures', 'processes', 'late-clock.js')

const RUNGS = [
  {
    name: 'fast',
    set: { 'speed.step_seconds': 0.001, 'speed.switch': 'fast' },
    predicts: '4x (by its step)',
  },
  { name: 'unseen', set: { 'speed.colour': 'red' } },
  { name: 'broken', set: { 'speed.fault': 'out-of-memory' } },
  {
    name: 'slow',
    set: { 'speed.step_seconds': 0.016, 'speed.switch': 'slow' },
    needs: ['fast'],
    replaces: ['broken'],
  },
]
/** What is switched is said by the rungs alone. */
const UNSWITCHED = { switch: undefined }
const LADDER = { set: { steps: 24 }, baseline_every: 2, rungs: RUNGS }

const ladderFile = z.object({
  trainings: z.array(z.object({ hash: z.string(), title: z.string() })),
  sittings: z.array(z.object({})),
  launches: z.array(
    z.object({ sitting: z.number(), training: z.string(), launch: z.object({ runId: z.string() }) }),
  ),
})

async function recordOf(folder: string) {
  return ladderFile.parse(JSON.parse(await readFile(join(folder, 'out', 'ladder', 'ladder.json'), 'utf8')))
}

/** What was launched, in its order. */
async function titlesIn(folder: string) {
  const { trainings, launches } = await recordOf(folder)
  return launches.map(({ training }) => trainings.find(({ hash }) => hash === training)?.title)
}

/** Cells of the rung's row, the first time that it stands in a table of this title. */
function rowOf({ stdout }: Ended, title: string, rung: string): string[] {
  const rows = stdout.slice(stdout.indexOf(title)).split('\n')
  const row = rows.find((line) => line.startsWith(`| ${rung} `)) ?? ''
  return row.split('|').map((cell) => cell.trim())
}

const ALONE = 'Each rung alone'
const SUM = 'Each on top of those before it'

describe('a ladder in one sitting', () => {
  let folder: string
  let ran: Ended

  beforeAll(async () => {
    folder = await anExperiment({ ladder: LADDER, optimized: UNSWITCHED })
    ran = await speedproof(folder, 'ladder', EXPERIMENT_FILE)
  })

  it('ends with 0, also when a rung fails', () => {
    expect(ran).toMatchObject({ exitCode: 0, stderr: '' })
    expect(ran.stdout).not.toContain('Still to measure')
  })

  it('has a verdict for each rung, with its prediction beside its speedup', () => {
    const fast = rowOf(ran, ALONE, 'fast')
    expect(fast).toContain('gain')
    expect(fast).toContain('4x (by its step)')
    expect(rowOf(ran, ALONE, 'unseen')).toContain('not active')
    expect(rowOf(ran, ALONE, 'broken')).toContain('failed: out-of-memory')
    expect(rowOf(ran, ALONE, 'slow')).toContain('loss')
    expect(rowOf(ran, SUM, 'broken')).toContain('failed: out-of-memory')
    expect(rowOf(ran, SUM, 'slow')).toContain('loss')
    expect(rowOf(ran, SUM, 'optimized variant')).toContain('not active')
  })

  it('says what was read back, what a rung needs and why one failed', () => {
    expect(ran.stdout).toContain('fast: reads back switch: off -> fast')
    expect(ran.stdout).toContain('slow: reads back switch: fast -> slow; alone with fast, which it needs')
    expect(ran.stdout).toContain('broken alone: failed, out-of-memory: rank 0')
    expect(ran.stdout).toContain('broken is left out of later sums: its own sum failed')
  })

  it('measures the baseline first, in between and last, and no training twice', async () => {
    expect(await titlesIn(folder)).toEqual([
      'baseline',
      'fast alone',
      'unseen alone',
      'baseline',
      'sum up to unseen',
      'broken alone',
      'baseline',
      'sum up to broken',
      'slow alone',
      'baseline',
      'sum up to slow',
      'optimized variant',
      'baseline',
    ])
  })

  it('is printed again from its file alone, in the same words', async () => {
    const shown = await speedproof(folder, 'ladder', '--show', 'out/ladder/ladder.json')
    expect(shown.exitCode).toBe(0)
    expect(ran.stdout).toContain(shown.stdout.trim())
    const markdown = await readFile(join(folder, 'out/ladder/ladder.md'), 'utf8')
    expect(markdown).toContain('# Ladder of faulty')
  })

  it('has nothing left to do for --resume, and only what failed for --retry', async () => {
    const before = await recordOf(folder)
    expect(await speedproof(folder, 'ladder', EXPERIMENT_FILE, '--resume')).toMatchObject({ exitCode: 0 })
    expect(await recordOf(folder)).toEqual(before)
    const again = await speedproof(folder, 'ladder', EXPERIMENT_FILE, '--resume', '--retry')
    expect(again.exitCode).toBe(0)
    const { launches, sittings } = await recordOf(folder)
    expect(sittings).toHaveLength(2)
    expect(launches.slice(before.launches.length).map(({ launch }) => launch.runId)).toEqual([
      'sitting-2-001-baseline',
      'sitting-2-002-broken-alone',
      'sitting-2-003-sum-up-to-broken',
      'sitting-2-004-baseline',
    ])
  })
})

it('a ladder that runs out of time ends with 3, and --resume measures the rest in a new sitting', async () => {
  const ladder = { ...LADDER, rungs: RUNGS.slice(0, 1) }
  const folder = await anExperiment({ ladder })
  const tooShort = await speedproof(folder, 'ladder', EXPERIMENT_FILE, '--out', 'short', '--minutes', '0.2')
  expect(tooShort).toMatchObject({ exitCode: 3, stdout: expect.not.stringContaining('To continue') })
  expect(tooShort.stdout).toContain(
    'Nothing was measured: --minutes 0.2 is too short for a launch between two baseline launches. Give more minutes\n',
  )

  vi.stubEnv('NODE_OPTIONS', `--import=${LATE_CLOCK}`)
  vi.stubEnv('LATE_AFTER', join(folder, 'out/ladder/runs/sitting-1-001-baseline/log.txt'))
  const cut = await speedproof(folder, 'ladder', EXPERIMENT_FILE, '--minutes', '5')
  vi.unstubAllEnvs()
  expect(cut).toMatchObject({ exitCode: 3, stderr: '' })
  expect(cut.stdout).toContain('Still to measure, with --resume: ')
  expect(cut.stdout).toContain('Nothing was measured: --minutes 5 is too short for a launch between two')
  const { launches } = await recordOf(folder)
  expect(launches).toHaveLength(1)
  const rest = await speedproof(folder, 'ladder', EXPERIMENT_FILE, '--resume')
  expect(rest).toMatchObject({ exitCode: 0, stderr: '' })
  const record = await recordOf(folder)
  expect(record.launches.slice(0, launches.length)).toEqual(launches)
  expect(record.launches.at(-1)).toMatchObject({ sitting: record.sittings.length - 1 })
  expect(rowOf(rest, ALONE, 'fast')).toContain('gain')
})

it('a ladder that is cut says what is left, the cut launch last, and leaves what failed out of later sums', async () => {
  // The optimized variant is the sum of the first rung too, and comes last.
  const [fast, , broken] = RUNGS
  const hanging = { name: 'hanging', set: { 'speed.fault': 'hang' } }
  const folder = await anExperiment({
    ladder: { ...LADDER, rungs: [fast, broken, hanging] },
    optimized: { switch: 'fast' },
  })
  const cut = await speedproof(folder, 'ladder', EXPERIMENT_FILE, '--minutes', '0.5')
  expect(cut).toMatchObject({ exitCode: 3, stderr: '' })
  expect(rowOf(cut, SUM, 'broken')).toContain('failed: out-of-memory')
  expect(cut.stdout).toContain(
    'Still to measure, with --resume: sum up to hanging, optimized variant, hanging alone\nTo continue: ',
  )
})

it('a baseline that fails ends the sitting, since nothing could be compared with it', async () => {
  const folder = await anExperiment({ baseline: { fault: 'crash' }, ladder: LADDER })
  const { exitCode, stdout } = await speedproof(folder, 'ladder', EXPERIMENT_FILE)
  expect(exitCode).toBe(1)
  expect((await recordOf(folder)).launches).toHaveLength(1)
  expect(stdout).toMatch(/sitting-1-001-baseline: failed, exit-code: .*told to crash; without a baseline/)
})

it('ladder.json is all that --resume needs of the folder, as where it was carried to another machine', async () => {
  const folder = await anExperiment({ ladder: { ...LADDER, rungs: RUNGS.slice(0, 1) } })
  await speedproof(folder, 'ladder', EXPERIMENT_FILE, '--rungs', 'fast')
  await mkdir(join(folder, 'carried'))
  await rename(join(folder, 'out/ladder/ladder.json'), join(folder, 'carried/ladder.json'))
  const rest = await speedproof(folder, 'ladder', EXPERIMENT_FILE, '--out', 'carried', '--resume')
  expect(rest).toMatchObject({ exitCode: 0, stderr: '' })
  expect(rowOf(rest, ALONE, 'fast')).toContain('gain')
  expect(await readdir(join(folder, 'carried/runs'))).toEqual(
    expect.arrayContaining(['sitting-2-001-baseline']),
  )
})

it('only the rungs that are named are measured, with what they are compared with', async () => {
  const folder = await anExperiment({ ladder: LADDER, optimized: UNSWITCHED })
  const ran = await speedproof(folder, 'ladder', EXPERIMENT_FILE, '--rungs', ' slow')
  expect(ran).toMatchObject({ exitCode: 0, stderr: '' })
  expect(rowOf(ran, ALONE, 'slow')).toContain('loss')
  expect(rowOf(ran, SUM, 'slow')).toContain('loss')
  expect(rowOf(ran, ALONE, 'unseen')).toContain('not measured')
  expect(new Set(await titlesIn(folder))).toEqual(
    // The sum before was to be that up to broken, which failed.
    new Set([
      ...['baseline', 'fast alone', 'slow alone'],
      ...['sum up to broken', 'sum up to unseen', 'sum up to slow'],
    ]),
  )
})

it('what was measured with another --seed is not resumed', async () => {
  const folder = await anExperiment({ ladder: { ...LADDER, rungs: RUNGS.slice(0, 1) } })
  const call = (...flags: string[]) => speedproof(folder, 'ladder', EXPERIMENT_FILE, ...flags)
  expect((await call('--seed', '3')).exitCode).toBe(0)
  const other = await call('--resume', '--seed', '4')
  expect(other.exitCode).toBe(2)
  expect(other.stderr).toContain('out/ladder was measured with seed 3. Give --seed 3, or another --out')
  expect((await call('--resume', '--seed', '3')).exitCode).toBe(0)
})

it('what was measured with another --set stays in the file, and is counted below the tables', async () => {
  const folder = await anExperiment({ ladder: { ...LADDER, rungs: RUNGS.slice(0, 1) } })
  const call = (...flags: string[]) => speedproof(folder, 'ladder', EXPERIMENT_FILE, ...flags)
  expect((await call()).stdout).not.toContain('with other settings')
  const { launches } = await recordOf(folder)
  const other = await call('--resume', '--set', 'steps=30')
  expect(other).toMatchObject({ exitCode: 0, stderr: '' })
  expect(other.stdout).toContain(
    `${launches.length} launches with other settings, from sitting 1: in ladder.json`,
  )
  expect((await recordOf(folder)).launches.slice(0, launches.length)).toEqual(launches)
})

it('--show writes an HTML report of the file, and only with --show', async () => {
  const folder = await anExperiment({ ladder: { ...LADDER, rungs: RUNGS.slice(0, 1) } })
  await speedproof(folder, 'ladder', EXPERIMENT_FILE)
  const shown = await speedproof(
    folder,
    'ladder',
    '--show',
    'out/ladder/ladder.json',
    '--html',
    'ladder.html',
  )
  expect(shown).toMatchObject({ exitCode: 0, stdout: 'Report: ladder.html\n' })
  expect(await readFile(join(folder, 'ladder.html'), 'utf8')).toMatch(
    /^<!doctype html>[\s\S]*Ladder of faulty/,
  )
  const alone = await speedproof(folder, 'ladder', EXPERIMENT_FILE, '--html', 'ladder.html')
  expect(alone).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--html') })
})

it.each([
  [['--minutes', '3'], '--minutes'],
  [['--set', 'steps=30'], '--set'],
  [['--resume'], '--resume'],
  [['other.json'], 'other.json'],
])('--show is refused beside %j, which it would not heed', async (flags, name) => {
  const folder = await anExperiment({ ladder: LADDER, optimized: UNSWITCHED })
  const { exitCode, stderr } = await speedproof(folder, 'ladder', '--show', 'ladder.json', ...flags)
  expect(exitCode).toBe(2)
  expect(stderr).toContain(`--show: got ${name} as well, but --show only prints its file`)
})

it('what a killed call left of a launch is moved aside', async () => {
  const folder = await anExperiment({ ladder: { ...LADDER, rungs: RUNGS.slice(0, 1) } })
  await speedproof(folder, 'ladder', EXPERIMENT_FILE)
  await speedproof(folder, 'ladder', EXPERIMENT_FILE)
  expect(await readdir(join(folder, 'out', 'ladder', 'earlier'))).toHaveLength(1)
})

describe('a ladder is refused with 2', () => {
  it.each([
    ['without rungs', undefined, [], 'ladder: missing in faulty'],
    [
      'with a rung outside of speed: in a same-work experiment',
      { rungs: [{ name: 'short', set: { steps: 10 } }] },
      [],
      'ladder: short alone: changes steps, which a same-work experiment may not',
    ],
    [
      'with a rung that is set already',
      { rungs: [{ name: 'idle', set: { 'speed.step_seconds': 0.004 } }] },
      [],
      'ladder: idle: changes nothing',
    ],
    [
      'with an unknown name',
      LADDER,
      ['--rungs', 'fast,typo'],
      '--rungs: got "typo", expected one or more of fast, unseen, broken, slow',
    ],
    ['with no time', LADDER, ['--minutes', 'soon'], 'minutes: got "soon"'],
    [
      'to resume what was not begun',
      LADDER,
      ['--resume'],
      'has no ladder.json, so there is nothing to resume. Name the folder of the interrupted ladder with --out',
    ],
    [
      'to retry what was not begun, with the call that begins it',
      LADDER,
      ['--retry', '--resume'],
      `\nTo start without --resume: speedproof ladder ${EXPERIMENT_FILE}\n`,
    ],
    ['to retry without --resume', LADDER, ['--retry'], '--retry: --resume is missing'],
  ])('%s', async (_, ladder, flags, message) => {
    const folder = await anExperiment(ladder === undefined ? {} : { ladder })
    const { exitCode, stderr } = await speedproof(folder, 'ladder', EXPERIMENT_FILE, ...flags)
    expect(exitCode).toBe(2)
    expect(stderr).toContain(message)
  })
})
