// What keeps an experiment from its nodes: no Slurm, a partition that is unknown, a queue that never starts.
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { PYTHON } from '../fixtures/processes/launching.ts'
import { hold, isOver, jobOf, letGo, onNodes, ranksOf, slurm, start } from './on-cluster.ts'

describe.concurrent('nothing is launched', () => {
  it('without Slurm, and the remedy is named', async () => {
    const folder = await onNodes({ launch: { python: PYTHON } })
    const bin = join(folder, 'bin')
    await mkdir(bin)
    const { stderr, exitCode } = await start(folder, undefined, { PATH: bin }).ended
    expect(stderr).toMatch(
      /launch\.engine: got slurm, but there is no \w+ on PATH\. .*login node.*engine: local/,
    )
    expect(exitCode).toBe(2)
  })

  it('in a partition that is unknown, and the known ones are named', async () => {
    const folder = await onNodes({ launch: { slurm: { partition: 'gpu-h100' } } })
    const { stderr, exitCode } = await start(folder).ended
    expect(stderr).toMatch(/Slurm refused the allocation: .*partition.*; partitions here: .*\ball\b/i)
    expect(exitCode).toBe(2)
    expect(existsSync(join(folder, 'out', 'runs', '01-block-1-baseline'))).toBe(false)
  })

  it('from a queue that never starts, which is given up in time', async () => {
    const folder = await onNodes({ launch: { lock_minutes: 0.1, slurm: { partition: 'closed' } } })
    const running = start(folder)
    const job = await jobOf(running)
    const { stdout, stderr, exitCode } = await running.ended
    expect(stdout).toMatch(
      /waiting in the queue of Slurm for .*\(PartitionDown\), up to .*launch\.lock_minutes/,
    )
    expect(stderr).toMatch(/still in the queue after .*PartitionDown.*raise launch\.lock_minutes/)
    expect(exitCode).not.toBe(0)
    await isOver(job)
  })

  it('after a cancel in the queue, which leaves no job', async () => {
    const folder = await onNodes({ launch: { slurm: { partition: 'closed' } } })
    const running = start(folder)
    const job = await jobOf(running)
    await running.waitForOutput('PartitionDown')
    running.pressCtrlC()
    expect(await running.ended).toMatchObject({ exitCode: 130 })
    await isOver(job)
  })

  it('after --resume on nodes of another kind', async () => {
    const folder = await onNodes({ launch: { slurm: { partition: 'mixed' } } })
    await hold(folder, '03-block-2-optimized')
    const running = start(folder)
    const job = await jobOf(running)
    await ranksOf(folder, '03-block-2-optimized')
    running.pressCtrlC()
    await running.ended
    await isOver(job)
    await letGo(folder, '03-block-2-optimized')
    await slurm('scontrol', 'update', 'NodeName=n[21-22]', 'State=DRAIN', 'Reason=test')
    try {
      const { stderr } = await start(folder, ['run', EXPERIMENT_FILE, '--resume']).ended
      expect(stderr).toMatch(/the kept blocks were measured on .*but this allocation has/)
    } finally {
      await slurm('scontrol', 'update', 'NodeName=n[21-22]', 'State=RESUME')
    }
  })
})
