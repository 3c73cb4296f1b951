// Launches on two nodes of a real Slurm: to the table, with nothing but the trainer's environment, one call at a time.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { aFolder, ROOT } from '../fixtures/processes/launching.ts'
import {
  hold,
  isEmpty,
  isInQueue,
  isOver,
  jobOf,
  letGo,
  onNodes,
  ranksOf,
  slurm,
  start,
  variablesOf,
} from './on-cluster.ts'

describe.concurrent('on two nodes', () => {
  it('the smoke experiment comes to its table', async () => {
    const folder = await aFolder()
    const smoke = parse(await readFile(join(ROOT, 'configs', 'experiments', 'smoke.yaml'), 'utf8'))
    const file = join(folder, 'smoke.yaml')
    // One short block without warm-up launches: what is wanted here is a training over the network, not a verdict.
    const set = { 'train.updates': 30, 'evaluation.rollout_trajectories': 0 }
    const short = (variant: object & { set?: object }) => ({ ...variant, set: { ...variant.set, ...set } })
    const changes = {
      launch: { ...smoke.launch, engine: 'slurm', nodes: 2, nproc_per_node: 1 },
      design: { blocks: 1, warm_up_launches: 0 },
      variants: { baseline: short(smoke.variants.baseline), optimized: short(smoke.variants.optimized) },
    }
    await writeFile(file, stringify({ ...smoke, ...changes }))
    const { stdout, exitCode } = await start(ROOT, ['run', file, '--out', join(folder, 'out')]).ended
    expect(stdout).toMatch(/\| speedup\s+\|/)
    expect(stdout).toContain('2 of 2 launches finished')
    expect(exitCode).toBe(0)
    const metrics = await readFile(
      join(folder, 'out', 'runs', '01-block-1-baseline', 'trainer', 'metrics.jsonl'),
      'utf8',
    )
    expect(JSON.parse(metrics.split('\n')[0] ?? '')).toMatchObject({ world_size: 2 })
  })

  it('a rank sees the allow-list, the experiment and its GPU, and nothing of the job', async () => {
    const launch = '01-block-1-baseline'
    const folder = await onNodes({ launch: { env: { FROM_EXPERIMENT: 'a,b=c' } } })
    await hold(folder, launch)
    const running = start(folder, undefined, {
      MY_SECRET: 'x',
      GITHUB_OUTPUT: '/tmp/y',
      OMP_NUM_THREADS: '1',
    })
    for (const pid of await ranksOf(folder, launch)) {
      const variables = variablesOf(pid)
      expect(variables).toEqual(
        expect.arrayContaining(['FROM_EXPERIMENT=a,b=c', 'OMP_NUM_THREADS=1', 'CUDA_VISIBLE_DEVICES=0']),
      )
      expect(variables.filter((one) => /^(MY_SECRET|GITHUB_|SLURM|SRUN)/.test(one))).toEqual([])
    }
    await letGo(folder, launch)
    expect(await running.ended).toMatchObject({ exitCode: 0 })
  })

  it('two calls that want the same nodes run one after the other', async () => {
    const launch = { slurm: { partition: 'pair' } }
    const folders = [await onNodes({ launch }), await onNodes({ launch })]
    const [first, second] = folders.map((folder) => start(folder))
    const ended = await Promise.all([first?.ended, second?.ended])
    expect(ended.map((one) => one?.exitCode)).toEqual([0, 0])
    expect(
      ended.map((one) => one?.stdout ?? '').filter((text) => text.includes('waiting in the queue')),
    ).toHaveLength(1)
    for (const folder of folders) await isEmpty(folder)
  })

  it('an allocation that it was started in is used and not ended', async () => {
    await slurm('salloc', '--no-shell', '--nodes=2', '--exclusive', '--job-name=around')
    const job = await slurm('squeue', '--noheader', '--name=around', '--format=%i')
    const folder = await onNodes()
    expect(await start(folder, undefined, { SLURM_JOB_ID: job }).ended).toMatchObject({ exitCode: 0 })
    expect(await isInQueue(job)).toBe(true)
    await slurm('scancel', job)
    const small = await onNodes({ launch: { nodes: 9 } })
    const { stderr, exitCode } = await start(small, undefined, { SLURM_JOB_ID: job }).ended
    expect(exitCode).not.toBe(0)
    expect(stderr).toMatch(/SLURM_JOB_ID is \d+, but Slurm knows no such job|has 2; lower nodes/)
  })

  it('one node and any command are a job step too', async () => {
    const command = [
      '{python}',
      join(ROOT, 'tests/fixtures/trainers/faulty.py'),
      '--config',
      '{config}',
      '--out',
      '{out}',
      '--seed',
      '{seed}',
    ]
    const folder = await onNodes({ trainer: { script: undefined }, launch: { nodes: 1, command } })
    const running = start(folder)
    const job = await jobOf(running)
    expect(await running.ended).toMatchObject({ exitCode: 0 })
    expect((await readResult(folder)).verdict.verdict).toBe('passed')
    await isOver(job)
  })
})
