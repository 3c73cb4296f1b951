// What other people's trainers do differently: each kind is measured, or refused with the fact that its owner needs.
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { EXPERIMENT_FILE, TRAINERS } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { aFolder, QUICK_PYTHON } from '../fixtures/processes/launching.ts'
import { speedproof } from '../harness/command-line.ts'

type Keys = Readonly<Record<string, unknown>>

interface Training {
  /** Python; has `write` of tests/fixtures/trainers/contract.py. */
  readonly script: string
  readonly command?: readonly string[]
  readonly trainer?: Keys
  readonly launch?: Keys
  readonly design?: Keys
  readonly baseline?: Keys
  readonly optimized?: Keys
  readonly more?: Keys
  readonly files?: Readonly<Record<string, string>>
}

const BY_FLAGS = { arguments: '--{key}={value}', speed_keys: ['fast'] }
const POINT_GATES = { speedup: { at_least: 3, evidence: 'point' } }

/** Takes the path of a config, an output folder and a seed as words, without names. */
const PLAIN = `config, out, seed = sys.argv[1:4]
fast = "fast=True" in sys.argv[4:]
`
const PLAIN_COMMAND = ['{python}', 'train.py', 'none', '{out}', '{seed}', '{arguments}']
const PLAIN_TRAINER = { arguments: '{key}={value}', speed_keys: ['fast'] }

async function aTraining(training: Training): Promise<string> {
  const { script, command, trainer, launch, design, baseline, optimized, more, files = {} } = training
  const folder = await aFolder()
  const experiment = {
    name: 'other',
    kind: 'same-work',
    trainer: trainer ?? PLAIN_TRAINER,
    launch: { python: QUICK_PYTHON, command: command ?? PLAIN_COMMAND, ...launch },
    variants: { baseline: baseline ?? {}, optimized: optimized ?? { set: { fast: true } } },
    design: { blocks: 1, warm_up_launches: 0, ...design },
    gates: POINT_GATES,
    ...more,
  }
  const preamble = `import os, sys\nsys.path.insert(0, ${JSON.stringify(TRAINERS)})\nfrom contract import write\n`
  const all = { 'train.py': `${preamble}${script}`, [EXPERIMENT_FILE]: stringify(experiment), ...files }
  for (const [name, text] of Object.entries(all)) await writeFile(join(folder, name), text)
  return folder
}

async function run(folder: string) {
  const { stdout, stderr, exitCode } = await speedproof(folder, 'run', EXPERIMENT_FILE)
  const { outcomes, verdict } = await readResult(folder)
  const ends = outcomes.map(({ status, message }) => message ?? status)
  const report = await readFile(join(folder, 'out', 'report.md'), 'utf8')
  return { stdout, stderr, exitCode, ends, report, verdict: verdict.verdict, gates: verdict.gates, outcomes }
}

const argparse = (...flags: string[]) => `import argparse
parser = argparse.ArgumentParser()
for flag in ${JSON.stringify(flags)}:
    parser.add_argument(flag)
words, rest = parser.parse_known_args() if ${flags.includes('--config-name') ? 'True' : 'False'} else (parser.parse_args(), [])
`

/** A command line of its own, the words that serve it, and what it says to `--config`, `--out` and `--seed`. */
const COMMAND_LINES: readonly [kind: string, training: Training, complaint: string][] = [
  [
    '--key=value, as nanoGPT takes them',
    {
      script: `settings = dict(word.removeprefix("--").split("=") for word in sys.argv[1:])
write(settings["out_dir"], fast=settings.get("fast") == "True", seed=int(settings["seed"]))
`,
      command: ['{python}', 'train.py', '{arguments}', '--out_dir={out}', '--seed={seed}'],
      trainer: BY_FLAGS,
      optimized: { set: { fast: 'True' } },
    },
    'ValueError: dictionary update sequence',
  ],
  [
    'the many flags of a Hugging Face script',
    {
      script: `${argparse('--output_dir', '--config_name', '--config_overrides', '--seed', '--bf16')}
write(words.output_dir, fast=words.bf16 == "True", seed=int(words.seed))
`,
      command: ['{python}', 'train.py', '--output_dir', '{out}', '--seed', '{seed}', '{arguments}'],
      trainer: { arguments: '--{key} {value}', speed_keys: ['bf16'] },
      optimized: { set: { bf16: true } },
    },
    'ambiguous option: --config could match --config_name, --config_overrides',
  ],
  [
    'overrides, as hydra takes them',
    {
      script: `${argparse('--config-name', '--config-path', '--config-dir')}
settings = dict(word.split("=") for word in rest)
write(settings["hydra.run.dir"], fast=settings.get("trainer.fast") == "True", seed=int(settings["seed"]))
`,
      command: ['{python}', 'train.py', 'hydra.run.dir={out}', 'seed={seed}', '{arguments}'],
      trainer: { arguments: '{key}={value}', speed_keys: ['trainer.fast'] },
      optimized: { set: { 'trainer.fast': true } },
    },
    'ambiguous option: --config could match --config-name, --config-path, --config-dir',
  ],
  [
    'a --config that names an entry of a registry, as torchtitan has it',
    {
      script: `${argparse('--config', '--job.dump_folder', '--training.seed', '--compile.enable')}
if words.config not in ("debug", "large"):
    raise ValueError(f"no config {os.path.basename(words.config)} in the registry")
words = vars(words)
write(words["job.dump_folder"], fast=words["compile.enable"] == "True", seed=int(words["training.seed"]))
`,
      command: [
        ...['{python}', 'train.py', '--config', 'debug', '--job.dump_folder', '{out}'],
        ...['--training.seed', '{seed}', '{arguments}'],
      ],
      trainer: { arguments: '--{key} {value}', speed_keys: ['compile.enable'] },
      optimized: { set: { 'compile.enable': true } },
    },
    'error: unrecognized arguments: --out',
  ],
]

describe.each(COMMAND_LINES)('a trainer with %s', (_, training, complaint) => {
  it('is measured by its own command', async () => {
    const { ends, verdict } = await run(await aTraining(training))
    expect([verdict, ends]).toEqual(['passed', ['finished', 'finished']])
  })

  it('that gets --config, --out and --seed instead ends the first launch, and its complaint is quoted', async () => {
    const folder = await aTraining({
      ...training,
      trainer: { script: 'train.py' },
      launch: { command: undefined },
      baseline: { config: 'config.yaml' },
      optimized: { config: 'config.yaml', set: { 'speed.fast': true } },
      design: { warm_up_launches: 1 },
      files: { 'config.yaml': 'speed: { fast: false }\n' },
    })
    const { ends, verdict } = await run(folder)
    expect([verdict, ends]).toEqual([
      'failed',
      [expect.stringContaining(complaint), 'not-run', 'not-run', 'not-run'],
    ])
  })
})

it('a launcher such as srun is started as it stands', async () => {
  const folder = await aTraining({
    script: `${PLAIN}write(out, fast=fast, seed=int(seed), world_size=int(os.environ["SLURM_NTASKS"]))\n`,
    command: ['./srun', '--ntasks={nproc}', ...PLAIN_COMMAND],
    launch: { nproc_per_node: 2 },
    files: { srun: '#!/bin/sh\nexport SLURM_NTASKS=$(echo "$1" | tr -dc 0-9)\nshift\nexec "$@"\n' },
  })
  await chmod(join(folder, 'srun'), 0o755)
  expect((await run(folder)).verdict).toBe('passed')
})

it('a trainer that wants an empty folder gets one, and may use any file name in it', async () => {
  const script = `${PLAIN}
if os.listdir(out):
    raise ValueError(f"Output directory ({out}) already exists and is not empty")
for name in ("config.json", "log.txt", "result.json", "machine.jsonl", "checkpoint"):
    open(os.path.join(out, name), "w").write("of the trainer")
print("trained")
write(out, fast=fast, seed=int(seed))
`
  const folder = await aTraining({ script })
  expect((await run(folder)).verdict).toBe('passed')
  const log = join(folder, 'out/runs/01-block-1-baseline/log.txt')
  expect(await readFile(log, 'utf8')).toBe('trained\n')
})

describe('a config file', () => {
  const command = ['{python}', 'train.py', '{config}', '{out}', '{seed}']
  const toml = 'steps = 20\n"a.b" = 1\n[train]\nlr = 1.0\nfast = false\n'

  it('in TOML keeps the types of its numbers, and keys with a dot can be set', async () => {
    const script = `import tomllib
config = tomllib.load(open(sys.argv[1], "rb"))
assert type(config["train"]["lr"]) is float, config
assert config["a.b"] == 2, config
write(sys.argv[2], fast=config["train"]["fast"], seed=int(sys.argv[3]))
`
    const variant = (fast: boolean) => ({ config: 'train.toml', set: { '"a.b"': 2, 'train.fast': fast } })
    const folder = await aTraining({
      script,
      command,
      trainer: { speed_keys: ['train.fast'] },
      baseline: variant(false),
      optimized: variant(true),
      files: { 'train.toml': toml },
    })
    const { ends, verdict } = await run(folder)
    expect([verdict, ends]).toEqual(['passed', ['finished', 'finished']])
  })

  it('may get a mapping as a new value', async () => {
    const script = `import yaml
config = yaml.safe_load(open(sys.argv[1]))
write(sys.argv[2], fast=config["speed"].get("compile") == {"mode": "max", "full": True}, seed=int(sys.argv[3]))
`
    const folder = await aTraining({
      script,
      command,
      trainer: {},
      baseline: { config: 'train.yaml' },
      optimized: { config: 'train.yaml', set: { 'speed.compile': { mode: 'max', full: true } } },
      files: { 'train.yaml': 'speed: { compile: null }\n' },
    })
    expect((await run(folder)).verdict).toBe('passed')
  })

  it('in another language is refused as soon as a key of it is set, with the remedy', async () => {
    const folder = await aTraining({
      script: '',
      command,
      trainer: {},
      baseline: { config: 'config.py' },
      optimized: { config: 'config.py', set: { fast: true } },
      files: { 'config.py': 'fast = False\n' },
    })
    const { exitCode, stderr } = await speedproof(folder, 'plan', EXPERIMENT_FILE)
    expect(exitCode).toBe(2)
    for (const part of ['variants.optimized.set', 'config.py', 'trainer.arguments'])
      expect(stderr).toContain(part)
  })
})

describe('the last evaluation', () => {
  const evaluatedAfter = (step: number | null) =>
    aTraining({
      script: `${PLAIN}write(out, fast=fast, seed=int(seed), steps=100, evaluated_after=${step ?? 'None'})\n`,
      design: { warm_up_launches: 1 },
    })

  it('may come one step before the end, and the report says where', async () => {
    const { verdict, stdout, report } = await run(await evaluatedAfter(99))
    expect(verdict, stdout).toBe('passed')
    expect(report).toMatch(/last evaluated after 792 of 800 samples/)
  })

  it('that comes too early ends the experiment after its warm-up launches', async () => {
    const { verdict, ends, stdout } = await run(await evaluatedAfter(50))
    expect([verdict, ends]).toEqual(['invalid', ['finished', 'finished', 'not-run', 'not-run']])
    expect(stdout).toMatch(/its last evaluation is after 400 of 800 samples.*; evaluate at the end/)
  })
})

describe('facts that nobody reports', () => {
  const unknown = (...facts: string[]) =>
    aTraining({
      script: `${PLAIN}write(out, fast=fast, seed=int(seed), unknown=tuple(${JSON.stringify(facts)}))\n`,
      more: { gates: { ...POINT_GATES, loss_delta: { below: 0.001, evidence: 'point' } } },
    })

  it('the settings read back are shown as such, and speed is still judged', async () => {
    const { verdict, stdout, report } = await run(await unknown('effective'))
    expect(verdict, stdout).toBe('passed')
    expect(report).toMatch(/not read back/)
  })

  it('the held-out set leaves the loss gate open, with the reason', async () => {
    const { verdict, gates, stdout } = await run(await unknown('data_hash', 'evaluation_samples'))
    expect(verdict, stdout).toBe('inconclusive')
    expect(gates).toMatchObject([
      { status: 'passed' },
      { gate: { name: 'loss_delta' }, status: 'inconclusive' },
    ])
    expect(stdout).toMatch(/held-out/)
  })
})

describe('samples', () => {
  const script = `${PLAIN}write(out, fast=fast, seed=int(seed), unknown=("samples", "samples_seen"))\n`

  it('that nobody counts leave the speed gate open, with the key that declares them', async () => {
    const { verdict, stdout } = await run(
      await aTraining({ script, more: { metrics: { format: 'recorder' } } }),
    )
    expect(verdict).toBe('inconclusive')
    expect(stdout).toContain('declare samples_per_step')
  })

  it('that the experiment declares are shown as its claim', async () => {
    const metrics = { format: 'recorder', samples_per_step: 8 }
    const { verdict, stdout, report } = await run(await aTraining({ script, more: { metrics } }))
    expect(verdict, stdout).toBe('passed')
    expect(report).toMatch(/samples[^\n]*declared/)
  })

  it('that a trainer counts otherwise than they are declared end the first launch', async () => {
    const folder = await aTraining({
      script: `${PLAIN}write(out, fast=fast, seed=int(seed), samples=8)\n`,
      design: { warm_up_launches: 1 },
      more: { metrics: { format: 'recorder', samples_per_step: 16 } },
    })
    const { ends } = await run(folder)
    expect(ends[0]).toMatch(/samples has 8, but metrics\.samples_per_step is 16/)
    expect(ends.slice(1)).toEqual(['not-run', 'not-run', 'not-run'])
  })
})

describe('what one launch of each variant shows', () => {
  it('all structural problems are said at once, and nothing more is launched', async () => {
    const script = `${PLAIN}write(out, fast=fast, seed=int(seed) + 1, steps=12, world_size=3)\n`
    const { ends, verdict, stdout, report } = await run(
      await aTraining({ script, design: { blocks: 4, warm_up_launches: 1 } }),
    )
    expect(verdict, stdout).toBe('invalid')
    expect(ends.filter((end) => end !== 'not-run')).toEqual(['finished', 'finished'])
    for (const part of ['on 3 processes', 'with seed', 'has 12 steps']) expect(report).toContain(part)
  })

  it('metrics without an evaluation end the first launch', async () => {
    const script = `${PLAIN}write(out, fast=fast, seed=int(seed), evaluated_after=None)\n`
    const { ends } = await run(await aTraining({ script, design: { warm_up_launches: 1 } }))
    expect(ends).toEqual([expect.stringContaining('evaluation'), 'not-run', 'not-run', 'not-run'])
  })

  it('a metrics file with several mistakes names the first, and try names all of them at once', async () => {
    const script = `${PLAIN}write(out, fast=fast, seed=int(seed))
path = os.path.join(out, "metrics.jsonl")
text = open(path).read().replace('"parameter_count": 10', '"parameter_count": -1').replace('"skipped_updates": 0', '"skipped_updates": "none"')
open(path, "w").write(text)
`
    const folder = await aTraining({ script, design: { warm_up_launches: 1 } })
    const { ends, stdout } = await run(folder)
    expect(ends[0]).toContain('parameter_count')
    expect(stdout).toContain(`speedproof try ${EXPERIMENT_FILE}`)
    const tried = await speedproof(folder, 'try', EXPERIMENT_FILE, '--out', 'tried')
    for (const part of ['parameter_count', 'skipped_updates']) expect(tried.stdout).toContain(part)
  })
})

describe('a training that ends with 0', () => {
  it('without work is quoted', async () => {
    const script = 'print("unable to locate sufficient gpus")\n'
    const { ends } = await run(await aTraining({ script, design: { warm_up_launches: 1 } }))
    expect(ends[0]).toContain('unable to locate sufficient gpus')
  })

  it('after it went on from a snapshot in the working directory is unequal work', async () => {
    const script = `${PLAIN}
left = 20 if os.path.exists("snapshot.pt") else 40
open("snapshot.pt", "w").write("half of it")
write(out, fast=fast, seed=int(seed), steps=left)
`
    const { verdict, ends, stdout } = await run(
      await aTraining({ script, design: { blocks: 4, warm_up_launches: 1 } }),
    )
    expect(verdict, stdout).toBe('invalid')
    expect(ends.filter((end) => end !== 'not-run')).toEqual(['finished', 'finished'])
    expect(stdout).toMatch(/equal work: .*updates/)
  })
})

it('the default gates suit a trainer without an NRMSE', async () => {
  const script = `${PLAIN}write(out, fast=fast, seed=int(seed))\n`
  const folder = await aTraining({ script, design: { blocks: 4 }, more: { gates: undefined } })
  const { gates, verdict, stdout, ends } = await run(folder)
  expect(ends.filter((end) => end !== 'finished' && end !== 'not-run')).toEqual([])
  expect(gates.filter(({ status }) => status === 'not-measured').map(({ gate }) => gate.name)).not.toContain(
    'nrmse_ratio',
  )
  expect(verdict, stdout).toBe('passed')
})
