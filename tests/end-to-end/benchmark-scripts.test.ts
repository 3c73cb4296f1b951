// The scripts in benchmarks/ that start experiments on a host with GPUs, with a Python that only notes its calls.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { beforeEach, expect, it, vi } from 'vitest'
import { aFolder, ROOT, stillRunning } from '../fixtures/processes/launching.ts'

let folder: string

beforeEach(async () => {
  folder = await aFolder()
})

/** Python ends with `exitCode`; its calls are the lines of the file `calls`. */
async function pythonThatEndsWith(exitCode: number): Promise<void> {
  const script = `#!/bin/sh\necho "$*" >> "${join(folder, 'calls')}"\nexit ${exitCode}\n`
  await writeFile(join(folder, 'python3'), script, { mode: 0o755 })
}

async function call(script: string, ...args: string[]) {
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
  return new Promise<{ exitCode: number; said: string }>((resolve) => {
    execFile(join(ROOT, 'benchmarks', script), args, { env }, (error, stdout, stderr) => {
      resolve({ exitCode: Number(error?.code ?? 0), said: stdout + stderr })
    })
  })
}

const onGpus = (...parts: string[]) => call('on-gpus.sh', join(relative(ROOT, folder), 'gpus'), ...parts)

it.each(['on-gpus.sh', 'through-the-action.sh'])('%s says how it is called', async (script) => {
  const { exitCode, said } = await call(script)
  expect(exitCode).toBe(2)
  expect(said).toMatch(/^usage: /)
})

it('a part that does not exist ends the call before any runs', async () => {
  await pythonThatEndsWith(0)
  const { exitCode, said } = await onGpus('kernels', 'gate-3gpu')
  expect(exitCode).toBe(2)
  expect(said).toContain('no part is called gate-3gpu; parts: data check kernels floor-4gpu gate-4gpu')
  expect(await readdir(folder)).not.toContain('calls')
})

it('a part that is done is passed over by the next call', async () => {
  await pythonThatEndsWith(0)
  expect((await onGpus('data', 'kernels')).exitCode).toBe(0)
  expect(await onGpus('data', 'kernels')).toEqual({ exitCode: 0, said: '' })
  expect((await readFile(join(folder, 'calls'), 'utf8')).split('\n')).toEqual([
    '-m trainer generate-data --config configs/train/two-task-4gpu-baseline.yaml',
    '-m benchmarks.kernel_speed',
    '',
  ])
})

it('a part that fails is named with its log, the others are still measured, and it is run again', async () => {
  await pythonThatEndsWith(1)
  const { exitCode, said } = await onGpus('rivals-4gpu', 'kernels')
  expect(exitCode).toBe(1)
  expect(said).toMatch(/rivals-4gpu: not done, see .*rivals-4gpu\.log/)
  expect(await readFile(join(folder, 'calls'), 'utf8')).toContain('benchmarks.kernel_speed')
  await pythonThatEndsWith(0)
  expect((await onGpus('kernels')).said).toMatch(/^kernels: exit 0 after/)
})

const stub = (name: string, script: string) =>
  writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })

it('a ladder has its sums on one GPU and its rungs alone on the others, goes on, and is shown as a whole', async () => {
  const ladders = join(folder, 'gpus/ladder-1gpu')
  await stub('nvidia-smi', "printf '0\\n1\\n2\\n'")
  await stub('node', `echo "$CUDA_VISIBLE_DEVICES: $*" >> "${join(folder, 'calls')}"`)
  await mkdir(join(ladders, '2'), { recursive: true })
  await writeFile(join(ladders, '2/ladder.json'), '')
  expect((await onGpus('ladder-1gpu')).exitCode).toBe(0)
  const calls = (await readFile(join(folder, 'calls'), 'utf8'))
    .replaceAll(relative(ROOT, folder), '')
    .split('\n')
  const ladder = 'lib/cli.js ladder configs/experiments/ladder-1gpu.yaml --out /gpus/ladder-1gpu'
  expect(calls.slice(0, 3).toSorted()).toEqual([
    `0: ${ladder}/0 --part sum`,
    `1: ${ladder}/1 --part alone --shard 1/2`,
    `2: ${ladder}/2 --part alone --shard 2/2 --resume`,
  ])
  expect(calls[3]).toMatch(/: lib\/cli.js ladder --show .*\/gpus\/ladder-1gpu\/2\/ladder.json$/)
})

it('a part whose first call fails waits for the others before the next part', async () => {
  await stub('nvidia-smi', "printf '0\\n1\\n'")
  await stub(
    'node',
    `[ "$CUDA_VISIBLE_DEVICES" = 0 ] && exit 3\nsleep 1\necho "ladder ended" >> "${join(folder, 'calls')}"`,
  )
  await pythonThatEndsWith(0)
  expect((await onGpus('ladder-1gpu', 'kernels')).exitCode).toBe(1)
  expect((await readFile(join(folder, 'calls'), 'utf8')).split('\n').slice(0, 2)).toEqual([
    'ladder ended',
    '-m benchmarks.kernel_speed',
  ])
})

it('ended itself, it ends what it runs, and the part is run again', async () => {
  const child = join(folder, 'child')
  await writeFile(join(folder, 'python3'), `#!/bin/sh\necho $$ > "${child}"\nexec sleep 600\n`, {
    mode: 0o755,
  })
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
  const parts = [join(relative(ROOT, folder), 'gpus'), 'kernels']
  const script = spawn(join(ROOT, 'benchmarks/on-gpus.sh'), parts, { env })
  const pid = await vi.waitFor(async () => {
    const noted = await readFile(child, 'utf8')
    expect(noted).toMatch(/^\d+\n$/)
    return Number(noted)
  }, 10_000)
  script.kill('SIGTERM')
  const [exitCode] = await once(script, 'exit')
  expect(exitCode).toBe(143)
  await vi.waitFor(() => expect(stillRunning([pid])).toEqual([]), 10_000)
  expect(await readdir(join(folder, 'gpus'))).toEqual(['kernels.jsonl', 'kernels.log'])
})
