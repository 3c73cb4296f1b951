// The compiled command line: one recorded experiment, run twice, planned, analyzed and reported.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { gatesFile } from '../../src/config/gates/gates.ts'
import { readGates } from '../../src/config/gates/read-gates.ts'
import {
  anExperiment,
  anExperimentByTorchrun,
  EXPERIMENT_FILE,
} from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { aFolder, ROOT } from '../fixtures/processes/launching.ts'
import { type Ended, speedproof } from '../harness/command-line.ts'

const RESULT = 'out/result.json'

const tableOf = ({ stdout }: Ended) => stdout.split('\n').filter((line) => line.startsWith('|'))

describe('a recorded experiment', () => {
  let folder: string
  let ran: Ended

  beforeAll(async () => {
    folder = await anExperiment()
    ran = await speedproof(folder, 'run', EXPERIMENT_FILE)
  })

  it('has passed with 0, with the place of every launch, the table and the paths in the terminal', () => {
    expect(ran).toMatchObject({ exitCode: 0, stderr: '' })
    expect(ran.stdout).toMatch(/\[1\/2\] block 1, baseline: finished in .*, held-out loss 0\.02/)
    expect(tableOf(ran)).toHaveLength(4)
    expect(ran.stdout).toContain('faulty passed on this host: ')
    expect(ran.stdout).toContain(`Report: out/report.md   Result: ${RESULT}`)
  })

  it('is analyzed to the same table and verdict', async () => {
    const analyzed = await speedproof(folder, 'analyze', RESULT)
    expect(analyzed.exitCode).toBe(0)
    expect(tableOf(analyzed)).toEqual(tableOf(ran))
  })

  it.each([
    [
      'failed with 1 by a higher limit',
      ['--min-speedup', '5'],
      1,
      'faulty failed on this host: speedup failed',
    ],
    [
      'inconclusive with 3 by gates that want an interval',
      ['--gates', 'interval.yaml'],
      3,
      'no valid interval',
    ],
    [
      'refused with 2 for gates that stand under no key',
      ['--gates', 'bare.yaml'],
      2,
      'bare.yaml: gates: missing; expected it at the top level, such as gates: { speedup',
    ],
    ['refused with 2 for an unknown gate', ['--gates', 'unknown.yaml'], 2, 'gates.speed_up: unknown gate'],
    ['refused with 2 for a limit in words', ['--min-speedup', 'fast'], 2, 'min-speedup: got "fast"'],
  ])('is %s, without a new launch', async (_, flags, exitCode, text) => {
    await writeFile(join(folder, 'interval.yaml'), 'gates:\n  speedup:\n    at_least: 3\n')
    await writeFile(join(folder, 'bare.yaml'), 'speedup:\n  at_least: 3\n')
    await writeFile(join(folder, 'unknown.yaml'), 'gates:\n  speed_up:\n    at_least: 3\n')
    const before = await readFile(join(folder, RESULT))
    const analyzed = await speedproof(folder, 'analyze', RESULT, ...flags)
    expect(analyzed.exitCode).toBe(exitCode)
    expect(analyzed.stdout + analyzed.stderr).toContain(text)
    expect(await readFile(join(folder, RESULT))).toEqual(before)
  })

  it('is reported as Markdown, the same as on disk', async () => {
    const { exitCode, stdout } = await speedproof(folder, 'report', RESULT)
    expect(exitCode).toBe(0)
    expect(stdout.trim()).toBe((await readFile(join(folder, 'out', 'report.md'), 'utf8')).trim())
  })

  it.each(['out', RESULT])('is an HTML report by --html, from %s', async (result) => {
    const { exitCode, stdout } = await speedproof(folder, 'report', '--html', 'pages/report.html', result)
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'Report: pages/report.html\n' })
    expect(await readFile(join(folder, 'pages/report.html'), 'utf8')).toMatch(/^<!doctype html>[\s\S]*faulty/)
  })

  it('is no HTML report where the file cannot be written', async () => {
    const { exitCode, stderr } = await speedproof(folder, 'report', '--html', 'out', RESULT)
    expect(exitCode).toBe(2)
    expect(stderr).toMatch(/^--html: got "out", which cannot be written/)
  })

  it('gives the plan of its next run an estimate', async () => {
    const { exitCode, stdout } = await speedproof(folder, 'plan', EXPERIMENT_FILE, '--blocks', '2')
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/faulty: 4 launches/)
    expect(stdout).toMatch(/-m torch\.distributed\.run --standalone .*--seed 1$/m)
    expect(stdout).toMatch(/Time: about .*, from 2 earlier launches/)
  })

  it('is moved aside by the next run, and can be analyzed there', async () => {
    const first = await readFile(join(folder, RESULT))
    const again = await speedproof(folder, 'run', EXPERIMENT_FILE, '--min-speedup', '5')
    expect(again.exitCode).toBe(1)
    const [time = ''] = await readdir(join(folder, 'out', 'earlier'))
    const moved = join('out', 'earlier', time, 'result.json')
    expect(await readFile(join(folder, moved))).toEqual(first)
    expect(await speedproof(folder, 'analyze', moved)).toMatchObject({ exitCode: 0 })
    expect((await readResult(folder)).verdict).toMatchObject({ verdict: 'failed' })
  })
})

it('the help of --gates shows a file that is one, and so does its page', async () => {
  const { stdout } = await speedproof(await aFolder(), 'analyze', '--help')
  const [, example = ''] = stdout.split('A file for --gates, which may be another experiment:\n')
  const { gates } = z.object({ gates: gatesFile }).parse(parse(example))
  expect(readGates(gates, null, 'help').map(({ name }) => name)).toEqual(['speedup', 'loss_delta'])
  const inReadme = example.trimEnd().replaceAll(/^ {2}/gm, '')
  expect(await readFile(join(ROOT, 'docs/command-line.md'), 'utf8')).toContain(
    `\`\`\`yaml\n${inReadme}\n\`\`\``,
  )
})

it('a plan that standard output does not take ends with 74, in words', async () => {
  const folder = await anExperiment()
  const full = await open('/dev/full', 'w')
  const words = [join(ROOT, 'lib/cli.js'), 'plan', EXPERIMENT_FILE]
  const found = spawnSync(process.execPath, words, { cwd: folder, stdio: ['ignore', full.fd, 'pipe'] })
  await full.close()
  expect([found.status, found.stderr.toString()]).toEqual([
    74,
    'standard output: cannot be written (ENOSPC: no space left on device, write); make room, or name another file\n',
  ])
})

it.each([
  ['a line before its JSON', "print('loading torch')", 'loading torch'],
  ['a number that is none', `print('{"lr": NaN}')`, 'NaN}'],
])('a validate_command that prints %s is told what to print', async (_, line, printed) => {
  const folder = await anExperiment({ trainer: { script: 'train.py', validate_command: 'resolve' } })
  await writeFile(join(folder, 'train.py'), `${line}\nprint('{}')\n`)
  const { exitCode, stderr } = await speedproof(folder, 'plan', EXPERIMENT_FILE)
  expect(exitCode).toBe(2)
  expect(stderr).toContain('variants.baseline: resolve: printed "')
  expect(stderr).toContain(printed)
  expect(stderr).toMatch(/expected one JSON object without NaN.*Print only that to standard output/)
})

it('a plan launches and writes nothing', async () => {
  const folder = await anExperiment()
  const { exitCode, stdout } = await speedproof(folder, 'plan', EXPERIMENT_FILE)
  expect(exitCode).toBe(0)
  expect(stdout).toContain('no earlier result of faulty to estimate from; at most 2 h 00 min')
  expect(existsSync(join(folder, 'out'))).toBe(false)
})

it.each(['run', 'plan', 'ladder'])(
  '%s refuses a folder of somebody else, whose files stay',
  async (command) => {
    const folder = await anExperiment({
      ladder: { rungs: [{ name: 'fast', set: { 'speed.step_seconds': 0.001 } }] },
    })
    await mkdir(join(folder, 'mine/runs'), { recursive: true })
    const { exitCode, stderr } = await speedproof(folder, command, EXPERIMENT_FILE, '--out', 'mine')
    expect([exitCode, stderr]).toEqual([
      2,
      `out: got "${join(folder, 'mine')}", which already has runs that Speedproof did not write. Name another folder, or move them away\n`,
    ])
    expect(await readdir(join(folder, 'mine'))).toEqual(['runs'])
  },
)

it.each<[string, Parameters<typeof anExperiment>[0], string | Buffer | null, string]>([
  [
    'a script that is a folder',
    { trainer: { script: 'configs' } },
    null,
    'trainer.script: got "configs", which is a folder; name the Python file in it that starts the training',
  ],
  [
    'a variable that is a secret',
    { launch: { env: { HF_TOKEN: 'x' } } },
    null,
    'experiment.yaml: launch.env.HF_TOKEN: a trainer may not see it',
  ],
  [
    'a config with bytes that are no UTF-8',
    {},
    Buffer.from('steps: 20\nname: caf\xe9\n', 'latin1'),
    'optimized.yaml, line 2: has bytes that are not UTF-8',
  ],
  [
    'a config with a template that was not rendered',
    {},
    'steps: {{ steps }}\n',
    'optimized.yaml, line 1: got { steps } as a key, expected a string',
  ],
])('a plan with %s is refused, and nothing else is printed', async (_, changes, optimized, message) => {
  const folder = await anExperiment(changes)
  await mkdir(join(folder, 'configs'))
  if (optimized !== null) await writeFile(join(folder, 'optimized.yaml'), optimized)
  const { exitCode, stdout, stderr } = await speedproof(folder, 'plan', EXPERIMENT_FILE)
  expect([exitCode, stdout]).toEqual([2, ''])
  expect(stderr).toContain(message)
  expect(stderr.trim().split('\n')).toHaveLength(1)
})

it('a setting below one that is no mapping is refused with variant, key and file', async () => {
  const folder = await anExperiment()
  const experiment = parse(await readFile(join(folder, EXPERIMENT_FILE), 'utf8'))
  experiment.variants.optimized.set = { 'steps.most': 3 }
  await writeFile(join(folder, EXPERIMENT_FILE), stringify(experiment))
  const { exitCode, stderr } = await speedproof(folder, 'plan', EXPERIMENT_FILE)
  expect(exitCode).toBe(2)
  expect(stderr).toContain(
    'variants.optimized.set: steps.most in optimized.yaml: steps is 20 there, expected a mapping of keys',
  )
})

it('a base that nothing asks for is refused, and a preset that fills in nothing is told', async () => {
  const folder = await anExperiment()
  const refused = await speedproof(folder, 'plan', EXPERIMENT_FILE, '--base', 'main')
  expect(refused).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(
      new RegExp(
        `^base: got "main", but no variant of ${EXPERIMENT_FILE} has revision: merge-base\\. Leave base out.*\n$`,
      ),
    ),
  })
  const full = await anExperiment({
    gates: {
      speedup: { at_least: 3 },
      loss_delta: { below: 0.001 },
      loss_ratio: { at_most: 1.03 },
      nrmse_ratio: { at_most: 1.03 },
      peak_memory_gb: { below: 50 },
    },
    design: { blocks: 4 },
  })
  const told = await speedproof(full, 'plan', EXPERIMENT_FILE, '--preset', 'nightly')
  expect(told.exitCode).toBe(0)
  expect(told.stdout).toContain(`preset: got nightly, which has no effect: ${EXPERIMENT_FILE} already sets`)
})

it('a Python that breaks is not taken for one without torch, and is quoted', async () => {
  const folder = await anExperiment()
  const script = "#!/bin/sh\necho 'libpython is gone' >&2\nexit 126\n"
  await writeFile(join(folder, 'broken'), script, { mode: 0o755 })
  const { exitCode, stderr } = await speedproof(folder, 'plan', EXPERIMENT_FILE, '--python', './broken')
  expect(exitCode).toBe(2)
  expect(stderr).toMatch(/^launch\.python: got "\.\/broken", which cannot be run \(exit code 126\); .*:\n/)
  expect(stderr).toMatch(/ libpython is gone\n$/)
})

it('a run of unequal work ends with 4', async () => {
  const folder = await anExperiment({ optimized: { samples_per_step: 8 } })
  const { exitCode, stdout } = await speedproof(folder, 'run', EXPERIMENT_FILE)
  expect(exitCode).toBe(4)
  expect(stdout).toContain(
    'faulty invalid on this host: equal work: training samples differ: 320 (baseline) / 160 (optimized)',
  )
})

it('a training that exits with a text is told with it, behind all that torchrun says', async () => {
  const folder = await anExperimentByTorchrun({ baseline: { fault: 'unheard of' } })
  const { exitCode, stdout } = await speedproof(folder, 'run', EXPERIMENT_FILE)
  expect(exitCode).toBe(1)
  expect(stdout).toContain(
    "(exit code 1 of rank 0; runs/01-block-1-baseline/log.txt ends with: fault: got 'unheard of', which is not known)",
  )
})

it('an evaluation that refuses its arguments is told with its words', async () => {
  const folder = await anExperiment({ trainer: { evaluate_command: 'judge' } })
  const { exitCode, stdout } = await speedproof(folder, 'run', EXPERIMENT_FILE)
  expect(exitCode).toBe(3)
  expect(stdout).toMatch(
    /2 of 2 runs are missing: exit code 2; evaluation\/log\.txt ends with: .*faulty\.py: error: the following /,
  )
})

describe('a block after which nothing can pass ends the experiment', () => {
  const short = { steps: 15 }
  const crash = { fault: 'crash' }
  it.each([
    ['incomparable', 4, 'of runs that differ', { optimized: { samples_per_step: 8 } }],
    ['incomparable', 4, 'of runs that are too short', { baseline: short, optimized: short }],
    ['failed', 1, 'with a launch that failed', { baseline: crash }],
  ])('%s, with %i, after one %s', async (why, code, _, changes) => {
    const folder = await anExperiment({ ...changes, design: { blocks: 3 } })
    const { exitCode, stdout } = await speedproof(folder, 'run', EXPERIMENT_FILE)
    const { outcomes } = await readResult(folder)
    expect(exitCode).toBe(code)
    const finished = { status: 'finished', reason: null }
    const first = why === 'failed' ? { status: 'failed', reason: 'exit-code' } : finished
    expect(outcomes).toMatchObject([first, finished, ...Array(4).fill({ status: 'not-run', reason: why })])
    const said = {
      incomparable: '2 of 6 launches finished; the rest was skipped because the runs could not be compared',
      failed: '1 of 6 launches finished; the rest was skipped because a launch failed',
    }[why]
    expect(stdout).toContain(said)
    const again = await speedproof(folder, 'analyze', 'out/result.json')
    expect(again).toMatchObject({ exitCode: code, stdout: expect.stringContaining(said ?? '') })
  })
})

it('a block without a number for a required gate ends the experiment, and other gates judge what there is', async () => {
  const lossGate = { loss_delta: { below: 0.001, evidence: 'point' } }
  const typo = { metric: 'evaluation.val_los', statistic: 'difference', at_least: -0.01 }
  const folder = await anExperiment({ gates: { ...lossGate, typo }, design: { blocks: 3 } })
  const { exitCode, stdout } = await speedproof(folder, 'run', EXPERIMENT_FILE)
  const { outcomes } = await readResult(folder)
  expect(exitCode).toBe(3)
  const finished = { status: 'finished', reason: null }
  const notRun = { status: 'not-run', reason: 'unmeasured' }
  expect(outcomes).toMatchObject([finished, finished, ...Array(4).fill(notRun)])
  const stopped =
    'faulty inconclusive on this host: stopped early: 2 of 6 launches finished; the rest was skipped because a required gate had no number'
  const said = `${stopped}; typo not measured: not every run reported a usable evaluation.val_los; all reported val_loss\n`
  expect(stdout).toContain(said)
  const again = await speedproof(folder, 'analyze', 'out/result.json')
  expect(again).toMatchObject({ exitCode: 3, stdout: expect.stringContaining(said) })
  await writeFile(join(folder, 'gates.yaml'), stringify({ gates: lossGate }))
  const other = await speedproof(folder, 'analyze', 'out/result.json', '--gates', 'gates.yaml')
  expect(other).toMatchObject({ exitCode: 3, stdout: expect.stringContaining(`${stopped}\n`) })
})

it('all that is printed reaches a pipe, however much it is', async () => {
  const folder = await anExperiment()
  await speedproof(folder, 'run', EXPERIMENT_FILE)
  const results = Array(20).fill('out/result.json')
  const { exitCode, stdout } = await speedproof(folder, 'report', ...results)
  expect(exitCode).toBe(0)
  expect(stdout.length).toBeGreaterThan(2 ** 16)
  expect(stdout).toMatch(/<\/details>\n+$/)
})

it.each([
  [
    ['ladder', '--show'],
    { configs: {} },
    'result.json of an experiment.*: speedproof analyze FILE, .* report FILE',
  ],
  [['analyze'], { sittings: [] }, 'ladder.json of a ladder.*: speedproof ladder --show FILE'],
  [['report'], { sittings: [] }, 'ladder.json of a ladder.*: speedproof ladder --show FILE'],
])('%j of a record of the other kind names the command that reads it', async (words, record, message) => {
  const folder = await aFolder()
  const file = join(folder, 'record.json')
  await writeFile(file, JSON.stringify(record))
  const { exitCode, stderr } = await speedproof(folder, ...words, file)
  expect(exitCode).toBe(2)
  expect(stderr).toMatch(new RegExp(`^${file}: is the ${message.replaceAll('FILE', file)}\n$`))
})

describe('a result that cannot be read ends analyze with 2', () => {
  it.each([
    ['absent', null, /out\.json: cannot be read .*ENOENT/],
    ['empty', '', /out\.json: not JSON .*expected a result\.json/],
    ['cut off', '{"schemaVersion": 2, "experi', /out\.json: not JSON .*expected a result\.json/],
    ['not JSON', 'verdict: passed\n', /out\.json: not JSON/],
    [
      'control characters',
      '{\u001b[31m\n::error::',
      /out\.json: not JSON \(\P{Cc}*\); expected a result\.json/u,
    ],
    ['of another program', '{"benches": []}', /out\.json: schemaVersion: missing; expected/],
    ['of another version', '{"schemaVersion": 99}', /out\.json: schemaVersion: got 99, expected 2; /],
  ])('when it is %s', async (_, text, message) => {
    const folder = await aFolder()
    if (text !== null) await writeFile(join(folder, 'out.json'), text)
    const { exitCode, stderr } = await speedproof(folder, 'analyze', 'out.json')
    expect(exitCode).toBe(2)
    expect(stderr).toMatch(message)
  })
})

it('--version prints that of package.json', async () => {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  expect(await speedproof(await aFolder(), '--version')).toMatchObject({
    exitCode: 0,
    stdout: `${version}\n`,
  })
})

it.each(['', '.', '..', '/'])('results with --out "%s" would lie among what is not ours', async (out) => {
  const folder = await anExperiment()
  const before = await readdir(folder)
  const { exitCode, stderr } = await speedproof(folder, 'run', EXPERIMENT_FILE, '--out', out)
  expect(exitCode).toBe(2)
  expect(stderr).toMatch(/^out: got "\/.*", which contains the working directory; /)
  expect(await speedproof(folder, 'doctor', '--out', out)).toMatchObject({ exitCode: 2, stdout: '', stderr })
  expect(await readdir(folder)).toEqual(before)
})

describe('a mistake at the prompt ends with 2', () => {
  it.each([
    ['an unknown command', ['measure'], "unknown command 'measure'"],
    ['an unknown option', ['run', '--speed', '3'], "unknown option '--speed'"],
    ['no experiment to run', ['run'], /^experiment: missing, and .*\. Name an experiment file\n$/],
    ['no experiment to plan', ['plan'], /^experiment: missing, and .*\. Name an experiment file\n$/],
    ['no ladder', ['ladder'], /^experiment: missing, and .*\. Name an experiment file\n$/],
    ['a missing experiment', ['run', 'typo.yaml'], 'typo.yaml: cannot be read'],
    ['a missing result', ['analyze'], "missing required argument 'results'"],
    ['a folder in place of a result', ['report', '.'], /^\.: is a folder; name a file in it\n$/],
  ])('%s', async (_, words, message) => {
    const { exitCode, stderr } = await speedproof(await aFolder(), ...words)
    expect(exitCode).toBe(2)
    expect(stderr).toMatch(message)
  })
})
