// The npm package as a user gets it: packed from a copy of the sources, and installed in a clean folder.
import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, it } from 'vitest'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { aFolder, PYTHON, ROOT } from '../fixtures/processes/launching.ts'

/** What packing reads. In the repository itself it would make lib/ again, which other tests use meanwhile. */
const SOURCES = [
  ...['package.json', 'tsconfig.json', 'tsconfig.build.json', 'action.yml', 'LICENSE', 'README.md'],
  ...['src', 'python', 'schemas', 'examples'],
]
const EXAMPLE = 'examples/foreign-trainer'
const EXPERIMENT = `${EXAMPLE}/experiment.yaml`

const run = promisify(execFile)
let clean: string

/** Node's own folder comes first, so that npm and `#!/usr/bin/env node` take the version of this test. */
async function inFolder(folder: string, program: string, ...words: string[]) {
  const own = { SPEEDPROOF_LOCK_FOLDER: clean, XDG_STATE_HOME: clean }
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter)
  return await run(program, words, { cwd: folder, env: { ...process.env, ...own, PATH } })
}

const speedproof = (...words: string[]) =>
  inFolder(clean, join(clean, 'node_modules', '.bin', 'speedproof'), ...words)

beforeAll(async () => {
  const source = await aFolder()
  clean = await aFolder()
  const filter = (path: string) => !path.endsWith('__pycache__')
  for (const name of SOURCES) await cp(join(ROOT, name), join(source, name), { recursive: true, filter })
  const caches = join(source, 'python', 'speedproof', '__pycache__')
  await mkdir(caches)
  await writeFile(join(caches, 'clock.cpython-311.pyc'), '')
  await symlink(join(ROOT, 'node_modules'), join(source, 'node_modules'))
  await inFolder(source, 'npm', 'pack', '--pack-destination', clean)
  const [tarball = ''] = (await readdir(clean)).filter((name) => name.endsWith('.tgz'))
  await writeFile(join(clean, 'package.json'), '{}')
  await inFolder(clean, 'npm', 'install', '--no-audit', '--no-fund', '--no-package-lock', `./${tarball}`)

  await cp(join(ROOT, EXAMPLE), join(clean, EXAMPLE), { recursive: true, filter })
  await cp(join(ROOT, 'examples/plain-loop/train.py'), join(clean, 'train.py'))
}, 900_000)

it('has a command of its version', async () => {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  expect((await speedproof('--version')).stdout).toBe(`${version}\n`)
})

it('holds every file that Python reads, and nothing that a build or a run has left', async () => {
  const installed = join(clean, 'node_modules', 'speedproof')
  const filesIn = async (root: string, folder: string) =>
    (await readdir(join(root, folder), { recursive: true }))
      .filter((path) => /\.(py|pyc|txt|typed)$/.test(path))
      .sort()
  for (const folder of ['src', 'python/speedproof']) {
    const files = (await filesIn(ROOT, folder)).filter((path) => !path.endsWith('.pyc'))
    expect(files.length).toBeGreaterThan(0)
    expect(await filesIn(installed, folder)).toEqual(files)
  }
  expect(await readdir(join(installed, 'lib'))).not.toContain('.tsbuildinfo')
})

it('plans and runs the foreign example', async () => {
  for (const name of ['baseline.yaml', 'optimized.yaml']) {
    const file = join(clean, EXAMPLE, name)
    await writeFile(file, (await readFile(file, 'utf8')).replace('updates: 200', 'updates: 60'))
  }
  const file = join(clean, EXPERIMENT)
  const text = await readFile(file, 'utf8')
  // By its point estimate, so that one block decides; which verdict it is depends on how busy the machine is.
  const quick = text.replace(/gates:.*/s, 'gates: { speedup: { at_least: 1.5, evidence: point } }\n')
  await writeFile(file, quick.replace('blocks: 4', 'blocks: 1\n  warm_up_launches: 0'))
  expect((await speedproof('plan', EXPERIMENT, '--python', PYTHON)).stdout).toContain('02-block-1-optimized')

  const ran = await speedproof('run', EXPERIMENT, '--python', PYTHON).catch((error) => error)
  const { outcomes } = await readResult(clean)
  expect(outcomes.map(({ status, message }) => message ?? status)).toEqual(['finished', 'finished'])
  expect(ran.stdout).toMatch(/\| speedup +\|.* \d[\d.]*x /)
}, 600_000)

it('writes a first experiment and its workflow, which pass plan', async () => {
  const choices = ['--script', 'train.py', '--python', PYTHON, '--switch', 'flash=False:True']
  await speedproof('init', ...choices)
  const experiment = 'configs/experiments/my-change.yaml'
  expect((await speedproof('plan', experiment)).stdout).toContain('block-1-optimized')
  expect(await readFile(join(clean, '.github/workflows/gpu-on-label.yml'), 'utf8')).toContain(experiment)
})

it('records a training that was not changed, by the Python package in it', async () => {
  const script = `
import torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(30):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
`
  await writeFile(join(clean, 'bare.py'), script)
  const experiment = `
name: bare
kind: same-work
trainer: { arguments: "{key}={value}", speed_keys: [fast] }
launch: { python: ${PYTHON}, command: ["{python}", bare.py, "{arguments}"] }
variants: { baseline: {}, optimized: { set: { fast: true } } }
metrics: { format: recorder, samples_per_step: 1 }
design: { blocks: 1, warm_up_launches: 0 }
gates: { speedup: { at_least: 3, evidence: point } }
`
  await writeFile(join(clean, 'bare.yaml'), experiment)
  await speedproof('run', 'bare.yaml', '--out', 'recorded').catch((error) => error)
  const metrics = join(clean, 'recorded', 'runs', '01-block-1-baseline', 'trainer', 'metrics.jsonl')
  const events = (await readFile(metrics, 'utf8')).trim().split('\n')
  expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({ event: 'run_end', attempted_updates: 30 })
}, 600_000)
