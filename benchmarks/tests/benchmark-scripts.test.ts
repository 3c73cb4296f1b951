// The scripts in benchmarks/ that start experiments on a host with GPUs, in a folder that stands for the repository,
// with programs that only note their calls.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, it, vi } from 'vitest'
import { aFolder, PYTHON, ROOT, stillRunning } from '../../tests/fixtures/processes/launching.ts'

let folder: string
let env: NodeJS.ProcessEnv

beforeEach(async () => {
  folder = await aFolder()
  env = {
    ...process.env,
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    CUDA_VISIBLE_DEVICES: undefined,
  }
  for (const name of ['benchmarks/harness', 'bin', 'lib', 'packages'])
    await mkdir(join(folder, name), { recursive: true })
  for (const script of ['on-gpus.sh', 'harness/pack.sh', 'harness/through-the-action.sh']) {
    await copyFile(join(ROOT, 'benchmarks', script), join(folder, 'benchmarks', script))
  }
  await writeFile(join(folder, 'lib/cli.js'), '')
  await havePackages('torch', 'numpy', 'h5py', 'yaml', 'jaxtyping')
  await haveGpus(4)
  await python('')
  await node('')
})

const stub = (name: string, script: string) =>
  writeFile(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })

const haveGpus = (count: number) =>
  stub('nvidia-smi', `printf '%s\\n' ${[...new Array(count).keys()].join(' ')}`)

async function havePackages(...names: string[]): Promise<void> {
  for (const name of names) await writeFile(join(folder, 'packages', `${name}.py`), '')
}

/** Notes its calls and then does as `script` says, but for lines of Python, which see `packages` alone. */
const python = (script: string) =>
  stub(
    'python3',
    `[ "$1" = -c ] && PYTHONPATH="${folder}/packages" exec "${PYTHON}" -S "$@"
echo "$*" >> "${folder}/calls"\n${script}`,
  )

const node = (script: string, version = 'v24.0.0') =>
  stub('node', `[ "$1" = --version ] && { echo ${version}; exit; }\n${script}`)

const calls = async () => (await readFile(join(folder, 'calls'), 'utf8')).trimEnd().split('\n')
const has = async (file: string) => (await readdir(join(folder, 'out'))).includes(file)

async function call(script: string, ...args: string[]) {
  return new Promise<{ exitCode: number; said: string }>((resolve) => {
    execFile(join(folder, 'benchmarks', script), args, { env }, (error, stdout, stderr) => {
      resolve({ exitCode: Number(error?.code ?? 0), said: stdout + stderr })
    })
  })
}

const onGpus = (...parts: string[]) => call('on-gpus.sh', 'out', ...parts)

it.each(['on-gpus.sh', 'harness/pack.sh', 'harness/through-the-action.sh'])(
  '%s says how it is called',
  async (script) => {
    const { exitCode, said } = await call(script)
    expect(exitCode).toBe(2)
    expect(said).toMatch(/^usage: /)
  },
)

it.each(
  ['on-gpus.sh', 'harness/through-the-action.sh'].flatMap((script) =>
    ['', '../elsewhere', 'out/../..'].map((out) => [script, out]),
  ),
)('%s refuses "%s", which is not below the repository', async (script, out) => {
  expect(await call(script, out, 'kernels')).toMatchObject({
    exitCode: 2,
    said: expect.stringContaining(`OUT is a folder in the repository`),
  })
  expect(await readdir(folder)).toEqual(['benchmarks', 'bin', 'lib', 'packages'])
})

it('a part that does not exist ends the call before any runs', async () => {
  const { exitCode, said } = await onGpus('kernels', 'gate-3gpu')
  expect(exitCode).toBe(2)
  expect(said).toContain(
    'no part is called gate-3gpu; parts: data check-1gpu check-2gpu check-4gpu kernels floor-4gpu',
  )
  expect(await readdir(folder)).not.toContain('calls')
})

it.each<[string, string, string, () => Promise<unknown>]>([
  [
    'gate-4gpu',
    'GPUs',
    'gate-4gpu: needs GPUs, 4 where nvidia-smi and CUDA_VISIBLE_DEVICES show 2: ',
    () => haveGpus(2),
  ],
  [
    'floor-1gpu',
    'a new Node',
    'floor-1gpu: needs Node 24 or newer on PATH: npm run setup',
    () => node('', 'v22.9.0'),
  ],
  [
    'ladder-4gpu',
    'the command line',
    'ladder-4gpu: needs lib/cli.js: npm run setup makes it',
    () => rm(join(folder, 'lib/cli.js')),
  ],
  [
    'rivals-2gpu',
    'rivals',
    'rivals-2gpu: needs python3 with accelerate: pip install lightning accelerate',
    () => havePackages('lightning'),
  ],
  [
    'learning',
    'the FNO',
    'learning: needs python3 with neuralop: pip install --group benchmarks/pyproject.toml:benchmarks',
    () => havePackages('matplotlib'),
  ],
])('%s without %s is refused before anything is measured', async (part, _what, text, without) => {
  await without()
  const { exitCode, said } = await onGpus('data', part)
  expect(exitCode).toBe(2)
  expect(said).toContain(text)
  expect(await readdir(folder)).toEqual(['benchmarks', 'bin', 'lib', 'packages'])
})

it('a part asks for as many GPUs as its name ends with', async () => {
  await havePackages('lightning', 'accelerate', 'matplotlib', 'neuralop')
  await haveGpus(0)
  const { said } = await onGpus()
  const asked = [...said.matchAll(/on-gpus\.sh: (.*): needs GPUs, (\d+) where/g)]
  expect(asked.map(([, , count]) => count).sort()).toEqual(['1', '2', '4'])
  for (const [, parts = '', count] of asked) {
    for (const [, ending] of parts.matchAll(/-(\d)gpu/g)) expect(ending).toBe(count)
  }
  expect(asked.flatMap(([, parts = '']) => parts.split(' '))).toContain('fp16-4gpu')
})

it('a part that is done is passed over by the next call', async () => {
  expect((await onGpus('data', 'kernels')).exitCode).toBe(0)
  expect(await onGpus('data', 'kernels')).toEqual({ exitCode: 0, said: '' })
  expect(await calls()).toEqual([
    '-m trainer generate-data --config configs/train/two-task-4gpu-baseline.yaml',
    '-m benchmarks.speed.kernel_speed',
  ])
})

it('a part that fails is named with its log, the others are still measured, and it is run again', async () => {
  await python('exit 1')
  const { exitCode, said } = await onGpus('memory', 'kernels')
  expect(exitCode).toBe(1)
  expect(said).toMatch(/memory: not done, see out\/memory\.log/)
  expect(await calls()).toContain('-m benchmarks.speed.kernel_speed')
  await python('')
  expect((await onGpus('kernels')).said).toMatch(/^kernels: exit 0 after/)
})

it.each([
  ['failed', 'passed', 'done', 1],
  ['inconclusive', 'passed', 'done', 3],
  ['failed', 'failed', 'measured again', 1],
  ['inconclusive', 'inconclusive', 'measured again', 3],
  ['invalid', 'passed', 'measured again', 4],
])('an experiment that ends as %s, its completion %s, is %s', async (verdict, completion, then, exitCode) => {
  const result = { verdict: { verdict, checks: [{ name: 'completion', status: completion }] } }
  await writeFile(join(folder, 'result.json'), JSON.stringify(result))
  await node(`echo measured >> "${folder}/calls"
cp "${folder}/result.json" "$INPUT_OUT/"
printf 'verdict<<end\\n${verdict}\\nend\\n' > "$GITHUB_OUTPUT"
exit ${exitCode}`)
  const isDone = then === 'done'
  expect((await onGpus('gate-4gpu')).exitCode).toBe(isDone ? 0 : 1)
  expect(await has('gate-4gpu.done')).toBe(isDone)
  await onGpus('gate-4gpu')
  expect(await calls()).toEqual(isDone ? ['measured'] : ['measured', 'measured'])
})

it('an experiment that could not start is not done by the result of an earlier one', async () => {
  await mkdir(join(folder, 'out/gate-4gpu'), { recursive: true })
  await writeFile(
    join(folder, 'out/gate-4gpu/result.json'),
    JSON.stringify({ verdict: { verdict: 'passed', checks: [{ name: 'completion', status: 'passed' }] } }),
  )
  await node('exit 2')
  expect((await onGpus('gate-4gpu')).exitCode).toBe(1)
  expect(await has('gate-4gpu.done')).toBe(false)
})

/** A trainer that ends its training, and rivals that write their result, if they are not `failing`. */
const measuringPython = (failing: string) =>
  python(`case "$*" in *${failing}*) exit 1 ;; esac
while [ $# -gt 1 ]; do
  [ "$1" = --out ] && mkdir -p "$2" && echo '{"event": "run_end"}' > "$2/metrics.jsonl"
  [ "$1" = --json ] && mkdir -p "$(dirname "$2")" && touch "$2"
  shift
done`)

const programs = async () =>
  (await calls()).map((line) => /lightning|accelerate|train |step_breakdown/.exec(line)?.[0])

it('a rival that fails stops no other, and alone is run again', async () => {
  await havePackages('lightning', 'accelerate')
  await measuringPython('lightning')
  expect((await onGpus('rivals-4gpu')).exitCode).toBe(1)
  const each = ['lightning', 'lightning', 'accelerate', 'accelerate', 'train '] // compiled as one, and split
  expect(await programs()).toEqual(each)
  await measuringPython('nothing')
  expect((await onGpus('rivals-4gpu')).exitCode).toBe(0)
  expect(await programs()).toEqual([...each, 'lightning', 'lightning'])
})

it("the plan's settings are traced over a whole period, and timed without one of them at a time", async () => {
  await havePackages('matplotlib')
  await measuringPython('nothing')
  expect((await onGpus('plan-parts-2gpu')).exitCode).toBe(0)
  const [traced, untraced, breakdown, cases] = await calls()
  expect(traced).toContain('/plan-2gpu.yaml --seed 0 --out out/plan-parts-2gpu/plan ')
  expect(traced).toContain(' --set speed.trace_updates=4')
  expect(untraced).toContain('/plan-2gpu.yaml --seed 0 --out out/plan-parts-2gpu/plan-untraced ')
  expect(untraced).not.toContain('trace_updates')
  expect(breakdown).toContain('step_breakdown --updates 4 ')
  expect(cases).toBe(
    '-m benchmarks.speed.speed_cases --gpus 2 --out out/speed-cases-2gpu --only baseline-2gpu optimized-2gpu' +
      ' plan-2gpu plan-2gpu-ddp plan-2gpu-nccl-default plan-2gpu-all-activations plan-2gpu-own-batch',
  )
})

it('number formats are compared on all GPUs at once, by eight seeds, and one that fails takes no other along', async () => {
  await haveGpus(2)
  await measuringPython('optimized-bf16-1')
  expect((await onGpus('formats')).exitCode).toBe(1)
  const trained = (await calls()).filter((line) => line.includes('trainer train'))
  expect(trained).toHaveLength(8 * 5)
  expect(trained).toContain(
    '-m trainer train --config configs/train/two-task-1gpu-recipe.yaml --seed 0 --out out/formats/recipe-fp16-8' +
      ' --set evaluation.rollout_trajectories=0 --set evaluation.every_updates=20 --set speed.precision=fp16 --seed 8',
  )
  await measuringPython('nothing')
  expect((await onGpus('formats')).exitCode).toBe(0)
  const [failed, table, ...others] = (await calls()).slice(trained.length)
  expect(failed).toContain(' --out out/formats/optimized-bf16-1 ')
  expect(table).toMatch(/^-m benchmarks.learning.formats/)
  expect(others).toEqual([])
})

const CHECK = '-m benchmarks.gpu_check.run --processes'

it('the check of one GPU is shared out to all, and those of several are one call each', async () => {
  await haveGpus(3)
  await python(`echo "on $CUDA_VISIBLE_DEVICES" >> "${folder}/calls"`)
  expect((await onGpus('check-1gpu')).exitCode).toBe(0)
  expect((await calls()).toSorted()).toEqual([
    `${CHECK} 1 --out out/check-1gpu/0 --resume --data data --shard 1/3`,
    `${CHECK} 1 --out out/check-1gpu/1 --resume --data data --shard 2/3`,
    `${CHECK} 1 --out out/check-1gpu/2 --resume --data data --shard 3/3`,
    'on 0',
    'on 1',
    'on 2',
  ])
  await onGpus('check-2gpu')
  expect(await calls()).toContain(`${CHECK} 2 --out out/check-2gpu --resume --data data`)
  await haveGpus(4)
  expect((await onGpus('check-4gpu')).exitCode).toBe(0)
  expect(await calls()).toContain(`${CHECK} 4 --out out/check-4gpu --resume --data data`)
})

const noteLadder = () => node(`echo "$CUDA_VISIBLE_DEVICES: $*" >> "${folder}/calls"`)

it.each([1, 4])('the ladder of %i GPUs is one call, which goes on', async (count) => {
  const out = `out/ladder-${count}gpu`
  await node(`echo "$*" >> "${folder}/calls"; mkdir -p ${out}; touch ${out}/ladder.json; exit 3`)
  expect((await onGpus(`ladder-${count}gpu`)).exitCode).toBe(1)
  await noteLadder()
  expect((await onGpus(`ladder-${count}gpu`)).exitCode).toBe(0)
  const ladder = `lib/cli.js ladder configs/experiments/ladder-${count}gpu.yaml --out ${out}`
  expect(await calls()).toEqual([
    ladder,
    `: ${ladder} --resume --retry`,
    `: lib/cli.js ladder --show ${out}/ladder.json`,
  ])
})

/** A call whose only part, kernels, does not end by itself, and the process of that. */
async function atWork(): Promise<{ script: ChildProcess; pid: number }> {
  await python(`echo $$ > "${folder}/child"\nexec sleep 600`)
  const script = spawn(join(folder, 'benchmarks/on-gpus.sh'), ['out', 'kernels'], { env })
  const pid = await vi.waitFor(async () => {
    const noted = await readFile(join(folder, 'child'), 'utf8')
    expect(noted).toMatch(/^\d+\n$/)
    return Number(noted)
  }, 10_000)
  return { script, pid }
}

it.each(['SIGTERM', 'SIGINT'] as const)(
  'ended by %s, it ends what it runs, and the part is run again',
  async (signal) => {
    const { script, pid } = await atWork()
    script.kill(signal)
    const [exitCode] = await once(script, 'exit')
    expect(exitCode).toBe(143)
    await vi.waitFor(() => expect(stillRunning([pid])).toEqual([]), 10_000)
    expect(await readdir(join(folder, 'out'))).toEqual(['commit', 'kernels.jsonl', 'kernels.log', 'lock'])
    await python('')
    expect((await onGpus('kernels')).exitCode).toBe(0)
  },
)

it('what one commit measured is not gone on with by another', async () => {
  await python('exit 1')
  expect((await onGpus('kernels')).exitCode).toBe(1)
  await writeFile(join(folder, 'out/commit'), 'abc\n')
  const { exitCode, said } = await onGpus('kernels')
  expect(exitCode).toBe(2)
  expect(said).toContain('out has measurements of abc, and this is unknown: name another folder')
  expect(await calls()).toHaveLength(1)
})

it('a second call into the same folder is refused', async () => {
  const { script, pid } = await atWork()
  const { exitCode, said } = await onGpus('data')
  expect(exitCode).toBe(2)
  expect(said).toMatch(/another call is at work in out, /)
  expect(stillRunning([pid])).toEqual([pid])
  expect(await calls()).toEqual(['-m benchmarks.speed.kernel_speed'])
  script.kill()
  await once(script, 'exit')
})

it.each(['SIGTERM', 'SIGINT'] as const)(
  'ended by %s, through-the-action.sh ends the step, keeps what that left and removes its own files',
  async (signal) => {
    await node(`trap 'kill $!; echo left > "$GITHUB_OUTPUT"; exit 1' TERM
sleep 600 &
echo "$$ $! $RUNNER_TEMP" > "${folder}/step"
wait`)
    const script = spawn(join(folder, 'benchmarks/harness/through-the-action.sh'), ['out', 'x.yaml'], { env })
    const [own = '', ...pids] = await vi.waitFor(async () => {
      const noted = await readFile(join(folder, 'step'), 'utf8')
      expect(noted).toMatch(/\n$/)
      return noted.trimEnd().split(' ').reverse()
    }, 10_000)
    script.kill(signal)
    const [exitCode] = await once(script, 'exit')
    expect(exitCode).toBe(1)
    await vi.waitFor(() => expect(stillRunning(pids.map(Number))).toEqual([]), 10_000)
    expect(await readFile(join(folder, 'out/outputs.txt'), 'utf8')).toBe('left\n')
    expect(existsSync(own)).toBe(false)
  },
)
