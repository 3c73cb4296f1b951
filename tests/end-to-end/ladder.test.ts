// `speedproof ladder` with a trainer that does as told: rungs that gain, do nothing and fail, in one sitting and in two.
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
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
    expect(ran.stdout).toContain('broken is left out of later sums: it failed in its own')
  })

  it('measures the baseline first, in between and last, and no training twice', async () => {
    const { trainings, launches } = await recordOf(folder)
    const titles = launches.map(({ training }) => trainings.find(({ hash }) => hash === training)?.title)
    expect(titles).toEqual([
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
    const again = await speedproof(
      folder,
      'ladder',
      EXPERIMENT_FILE,
      '--resume',
      '--retry',
      '--part',
      'alone',
    )
    expect(again.exitCode).toBe(0)
    const { launches, sittings } = await recordOf(folder)
    expect(sittings).toHaveLength(2)
    expect(launches.slice(before.launches.length).map(({ launch }) => launch.runId)).toEqual([
      'sitting-2-001-baseline',
      'sitting-2-002-broken-alone',
      'sitting-2-003-baseline',
    ])
  })
})

it('a ladder that runs out of time ends with 3, and --resume measures the rest in a new sitting', async () => {
  const ladder = { ...LADDER, rungs: RUNGS.slice(0, 1) }
  const folder = await anExperiment({ ladder })
  const tooShort = await speedproof(folder, 'ladder', EXPERIMENT_FILE, '--out', 'short', '--minutes', '0.2')
  expect(tooShort).toMatchObject({ exitCode: 3, stdout: expect.not.stringContaining('To go on') })
  expect(tooShort.stdout).toContain(
    'Nothing was measured: --minutes 0.2 has no room for a launch between two of the baseline; give more\n',
  )

  vi.stubEnv('NODE_OPTIONS', `--import=${LATE_CLOCK}`)
  vi.stubEnv('LATE_AFTER', join(folder, 'out/ladder/runs/sitting-1-001-baseline/log.txt'))
  const cut = await speedproof(folder, 'ladder', EXPERIMENT_FILE, '--minutes', '5')
  vi.unstubAllEnvs()
  expect(cut).toMatchObject({ exitCode: 3, stderr: '' })
  expect(cut.stdout).toContain('Still to measure, with --resume: ')
  expect(cut.stdout).toContain('Nothing was measured: --minutes 5 has no room for a launch between two')
  const { launches } = await recordOf(folder)
  expect(launches).toHaveLength(1)
  const rest = await speedproof(folder, 'ladder', EXPERIMENT_FILE, '--resume')
  expect(rest).toMatchObject({ exitCode: 0, stderr: '' })
  const record = await recordOf(folder)
  expect(record.launches.slice(0, launches.length)).toEqual(launches)
  expect(record.launches.at(-1)).toMatchObject({ sitting: record.sittings.length - 1 })
  expect(rowOf(rest, ALONE, 'fast')).toContain('gain')
})

it('a ladder that is cut before the sum below one that fails is to go on, and needs no other call', async () => {
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
    'Still to measure, with --resume: optimized variant, hanging alone\nTo go on: ',
  )
  expect(cut.stdout).not.toContain('No sums of')
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
  await speedproof(folder, 'ladder', EXPERIMENT_FILE, '--part', 'alone')
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
  const ran = await speedproof(folder, 'ladder', EXPERIMENT_FILE, '--rungs', ' slow', '--part', 'alone')
  expect(ran).toMatchObject({ exitCode: 0, stderr: '' })
  expect(rowOf(ran, ALONE, 'slow')).toContain('loss')
  expect(rowOf(ran, ALONE, 'unseen')).toContain('not measured')
  expect((await recordOf(folder)).launches).toHaveLength(4)
})

describe('a ladder that three calls share', () => {
  const CALLS = [
    ['--part', 'sum'],
    ['--part', 'alone', '--shard', '1/2'],
    ['--part', 'alone', '--shard', '2/2'],
  ]
  const files = [0, 1, 2].map((call) => `out/${call}/ladder.json`)
  let folder: string

  beforeAll(async () => {
    folder = await anExperiment({ ladder: LADDER, optimized: UNSWITCHED })
    for (const [call, flags] of CALLS.entries()) {
      const ran = await speedproof(folder, 'ladder', EXPERIMENT_FILE, ...flags, '--out', `out/${call}`)
      expect(ran).toMatchObject({ exitCode: 0, stderr: '' })
      expect(ran.stdout).toContain('not measured')
    }
  })

  it.each([[files], [files.toReversed()]])(
    'is shown as one, whatever the order of its files',
    async (named) => {
      const shown = await speedproof(folder, 'ladder', '--show', ...named)
      expect(shown).toMatchObject({ exitCode: 0, stderr: '' })
      const verdicts = RUNGS.flatMap(({ name }) =>
        [ALONE, SUM].map((title) => rowOf(shown, title, name).at(-2)),
      )
      expect(verdicts).not.toContain('not measured')
      expect(rowOf(shown, ALONE, 'fast')).toContain('gain')
      expect(rowOf(shown, ALONE, 'unseen')).toContain('not active')
      expect(rowOf(shown, SUM, 'broken')).toContain('failed: out-of-memory')
      expect(shown.stdout).toContain('broken is left out of later sums: it failed in its own')
      expect(shown.stdout).toMatch(/^ {2}3: \d{4}-.*, 2 baseline launches/m)
    },
  )

  it('launches every rung alone once', async () => {
    const runs = await Promise.all([1, 2].map((call) => readdir(join(folder, `out/${call}/runs`))))
    const alone = runs.flat().filter((id) => id.endsWith('-alone'))
    expect(alone.map((id) => id.split('-').slice(3).join(' ')).toSorted()).toEqual([
      'broken alone',
      'fast alone',
      'slow alone',
      'unseen alone',
    ])
  })

  it('is not shown with a file twice, nor beside another ladder', async () => {
    const twice = await speedproof(folder, 'ladder', '--show', 'out/1/ladder.json', 'out/1/ladder.json')
    expect(twice.exitCode).toBe(2)
    expect(twice.stderr).toContain('as another file has; name each file once, and no copy')
    await speedproof(
      folder,
      'ladder',
      EXPERIMENT_FILE,
      '--rungs',
      'fast',
      '--set',
      'steps=20',
      '--out',
      'out/3',
    )
    const other = await speedproof(folder, 'ladder', '--show', 'out/1/ladder.json', 'out/3/ladder.json')
    expect(other.exitCode).toBe(2)
    expect(other.stderr).toContain(
      'are not of one ladder: they differ in their settings (steps: 24 and 20); show each by itself',
    )
  })
})

describe('a ladder whose launches calls share, sums too,', () => {
  const rungs = [
    { name: 'red', set: { 'speed.colour': 'red' } },
    { name: 'switched', set: { 'speed.switch': 'turned' } },
    { name: 'fast', set: { 'speed.step_seconds': 0.001, 'speed.switch': 'fast' } },
    { name: 'slow', set: { 'speed.step_seconds': 0.016, 'speed.switch': 'slow' } },
  ]
  const called = (folder: string, number: number, ...flags: string[]) =>
    speedproof(folder, 'ladder', EXPERIMENT_FILE, '--out', `out/${number}`, ...flags)
  const share = (folder: string) =>
    Promise.all([1, 2].map((number) => called(folder, number, '--shard', `${number}/2`)))
  const shown = (folder: string) =>
    speedproof(folder, 'ladder', '--show', 'out/1/ladder.json', 'out/2/ladder.json')
  const sumsOf = async (folder: string, number: number) =>
    (await readdir(join(folder, `out/${number}/runs`)))
      .filter((id) => id.includes('-sum-up-to-'))
      .map((id) => id.replace(/.*-sum-up-to-/, ''))

  it('is shown as one, each sum beside the one before it of the same call', async () => {
    const folder = await anExperiment({ ladder: { ...LADDER, rungs }, optimized: UNSWITCHED })
    for (const ran of await share(folder)) expect(ran).toMatchObject({ exitCode: 0, stderr: '' })
    const whole = await shown(folder)
    expect(whole).toMatchObject({ exitCode: 0, stderr: '' })
    const verdicts = rungs.flatMap(({ name }) =>
      [ALONE, SUM].map((title) => rowOf(whole, title, name).at(-2)),
    )
    expect(verdicts).not.toContain('not measured')
    expect(rowOf(whole, SUM, 'slow').at(-2)).toBe('loss')
    expect(rowOf(whole, SUM, 'optimized variant')).toContain('not active')
    expect(await sumsOf(folder, 1)).toEqual(['switched'])
    expect(await sumsOf(folder, 2)).toEqual(['switched', 'fast', 'slow'])
  })

  const broken = { name: 'broken', set: { 'speed.fault': 'out-of-memory' } }
  const six = [...rungs, { name: 'last', set: { 'speed.colour': 'blue', 'speed.switch': 'last' } }]

  it('has the sums of another stretch measured in one call where a rung fails in them', async () => {
    const folder = await anExperiment({
      ladder: { ...LADDER, rungs: [broken, ...six] },
      optimized: UNSWITCHED,
    })
    const [one, two] = await share(folder)
    expect(one?.exitCode).toBe(0)
    expect(two?.exitCode).toBe(3)
    expect(two?.stdout).toContain(
      'No sums of fast, slow, last: the sum before fails, and by which rung is not known',
    )
    expect(two?.stdout).not.toContain('Still to measure')
    expect(await sumsOf(folder, 2)).toEqual(['switched']) // one failure says enough
    expect(rowOf(await shown(folder), SUM, 'slow').at(-2)).toBe('not measured')
    expect(await called(folder, 1, '--part', 'sum', '--resume')).toMatchObject({ exitCode: 0, stderr: '' })
    const whole = await shown(folder)
    expect(whole).toMatchObject({ exitCode: 0, stderr: '' })
    expect(rowOf(whole, SUM, 'broken')).toContain('failed: out-of-memory')
    expect(rowOf(whole, SUM, 'slow').at(-2)).toBe('loss')
    expect(whole.stdout.match(/\S+ is left out of later sums/g)).toEqual(['broken is left out of later sums'])
  })

  it('is shown as one where a rung fails in the last stretch', async () => {
    const folder = await anExperiment({
      ladder: { ...LADDER, rungs: [...rungs.slice(0, 2), broken, rungs[3]] },
      optimized: UNSWITCHED,
    })
    for (const ran of await share(folder)) expect(ran).toMatchObject({ exitCode: 0, stderr: '' })
    const whole = await shown(folder)
    expect(rowOf(whole, SUM, 'broken')).toContain('failed: out-of-memory')
    expect(rowOf(whole, SUM, 'slow').at(-2)).toBe('loss')
  })

  it('is not shown as one where one call has measured sums with what another has left out', async () => {
    const folder = await anExperiment({ ladder: { ...LADDER, rungs }, optimized: UNSWITCHED })
    await share(folder)
    const file = z.looseObject({ trainings: z.array(z.looseObject({ title: z.string() })) })
    const others = { 1: 'sum up to fast', 2: 'sum up to switched' } // which each has otherwise
    for (const [number, unlike] of Object.entries(others)) {
      const path = join(folder, `out/${number}/ladder.json`)
      const ladder = file.parse(JSON.parse(await readFile(path, 'utf8')))
      const trainings = ladder.trainings.filter(({ title }) => title !== unlike)
      await writeFile(path, JSON.stringify({ ...ladder, trainings }))
    }
    const refused = await shown(folder)
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toContain('they differ in their sums, by what failed in them; show each by itself')
  })
})

it('what was measured with another --seed is not resumed', async () => {
  const folder = await anExperiment({ ladder: { ...LADDER, rungs: RUNGS.slice(0, 1) } })
  const call = (...flags: string[]) => speedproof(folder, 'ladder', EXPERIMENT_FILE, ...flags)
  expect((await call('--part', 'alone', '--seed', '3')).exitCode).toBe(0)
  const other = await call('--resume', '--seed', '4')
  expect(other.exitCode).toBe(2)
  expect(other.stderr).toContain('out/ladder was measured with 3; give --seed 3, or another --out')
  expect((await call('--resume', '--seed', '3')).exitCode).toBe(0)
})

it('what was measured with another --set stays in the file, and is counted below the tables', async () => {
  const folder = await anExperiment({ ladder: { ...LADDER, rungs: RUNGS.slice(0, 1) } })
  const call = (...flags: string[]) =>
    speedproof(folder, 'ladder', EXPERIMENT_FILE, '--part', 'alone', ...flags)
  expect((await call()).stdout).not.toContain('of other settings')
  const { launches } = await recordOf(folder)
  const other = await call('--resume', '--set', 'steps=30')
  expect(other).toMatchObject({ exitCode: 0, stderr: '' })
  expect(other.stdout).toContain(`${launches.length} launches of other settings, from sitting 1, kept in`)
  expect((await recordOf(folder)).launches.slice(0, launches.length)).toEqual(launches)
})

it.each([
  [['--minutes', '3'], '--minutes'],
  [['--set', 'steps=30'], '--set'],
  [['--resume'], '--resume'],
])('--show is refused beside %j, which it would not heed', async (flags, name) => {
  const folder = await anExperiment({ ladder: LADDER, optimized: UNSWITCHED })
  const { exitCode, stderr } = await speedproof(folder, 'ladder', '--show', 'ladder.json', ...flags)
  expect(exitCode).toBe(2)
  expect(stderr).toContain(`--show: prints what its files hold, so ${name} would change nothing`)
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
      'ladder: short alone: a same-work experiment may not change steps',
    ],
    [
      'with a rung that is set already',
      { rungs: [{ name: 'idle', set: { 'speed.step_seconds': 0.004 } }] },
      [],
      'ladder: idle: sets only what is set without it',
    ],
    [
      'with an unknown name',
      LADDER,
      ['--rungs', 'fast,typo'],
      '--rungs: got "typo", expected some of fast, unseen, broken, slow',
    ],
    [
      'with an odd shard',
      LADDER,
      ['--part', 'alone', '--shard', '3/2'],
      '--shard: got "3/2", expected NUMBER/COUNT',
    ],
    ['with no time', LADDER, ['--minutes', 'soon'], 'minutes: got "soon"'],
    [
      'to resume what was not begun',
      LADDER,
      ['--resume'],
      'has no ladder.json, so nothing in it can go on; name the folder of the interrupted ladder with --out',
    ],
    [
      'to retry what was not begun, with the call that begins it',
      LADDER,
      ['--retry', '--resume'],
      `\nTo start without --resume: speedproof ladder ${EXPERIMENT_FILE}\n`,
    ],
    [
      'to retry without --resume',
      LADDER,
      ['--retry'],
      '--retry: launches again what failed, so it needs --resume',
    ],
  ])('%s', async (_, ladder, flags, message) => {
    const folder = await anExperiment(ladder === undefined ? {} : { ladder })
    const { exitCode, stderr } = await speedproof(folder, 'ladder', EXPERIMENT_FILE, ...flags)
    expect(exitCode).toBe(2)
    expect(stderr).toContain(message)
  })
})
