// What may end a launch on a real Slurm, each with who is left, what the verdict says, and how --resume goes on.
import { execFile } from 'node:child_process'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { listProcesses } from '../../src/io/process/process-table.ts'
import { EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { CLI } from '../harness/command-line.ts'
import { processesIn } from '../harness/processes.ts'
import {
  hold,
  isEmpty,
  isOver,
  jobOf,
  letGo,
  onNodes,
  processesWith,
  ranksOf,
  slurm,
  start,
  variablesOf,
  wordsOf,
} from './on-cluster.ts'

/** Block 1 is done, and the first launch of block 2 waits with its ranks. */
const HELD = '03-block-2-optimized'

async function inBlock2(changes: Parameters<typeof onNodes>[0] = {}) {
  const folder = await onNodes(changes)
  await hold(folder, HELD)
  const running = start(folder)
  const job = await jobOf(running)
  const ranks = await ranksOf(folder, HELD)
  return { folder, running, job, ranks }
}

function agentsIn(folder: string): number[] {
  return processesWith('agent.py launch', folder).filter((pid) => !wordsOf(pid)[0]?.endsWith('srun'))
}

/** To its verdict, with block 1 as it was. */
async function resumed(folder: string) {
  await letGo(folder, HELD)
  return await start(folder, ['run', EXPERIMENT_FILE, '--resume']).ended
}

// Side by side, since they wait more than they compute; the longest first.
describe.concurrent('a launch ends', () => {
  it('by the limit of its allocation, which the verdict says', async () => {
    const folder = await onNodes({ launch: { slurm: { time_minutes: 1 } } })
    await hold(folder, '01-block-1-baseline')
    const running = start(folder)
    const job = await jobOf(running)
    const { stderr } = await running.ended
    expect(stderr).toContain('its time limit was reached')
    expect(processesIn(folder)).toEqual([])
    await isOver(job)
    expect((await readResult(folder)).verdict.reason).toContain('its time limit was reached')
  })

  it('by our own SIGKILL, once the lease is old, and the allocation with it', async () => {
    const { folder, running, job, ranks } = await inBlock2()
    running.kill()
    await running.ended
    expect(ranks.every((pid) => processesIn(folder).includes(pid))).toBe(true)
    await isEmpty(folder)
    await isOver(job)
    expect((await resumed(folder)).exitCode).toBe(0)
  })

  it.each<[string, RegExp, (held: Awaited<ReturnType<typeof inBlock2>>) => unknown]>([
    ['by scancel', /cancelled it \(scancel\)/, ({ job }) => slurm('scancel', job)],
    [
      'by the end of srun',
      /srun ended by SIGKILL before the launch did/,
      ({ folder }) => {
        for (const pid of processesWith('srun --jobid=', folder)) process.kill(pid, 'SIGKILL')
      },
    ],
    [
      'by the end of a step daemon',
      /was ended on node n\d+ by SIGTERM|srun ended/,
      ({ folder }) => {
        // It started the agent of its node.
        const agents = agentsIn(folder)
        const [daemon] = listProcesses().flatMap(({ pid, parent }) => (agents.includes(pid) ? [parent] : []))
        process.kill(daemon ?? Number.NaN, 'SIGKILL')
      },
    ],
    [
      'by scancel of its step alone',
      /did not come from Speedproof|srun ended/,
      async ({ job }) => {
        const steps = await slurm('squeue', '--steps', `--job=${job}`, '--noheader', '--format=%i')
        const numbers = steps.split('\n').filter((one) => /\.\d+$/.test(one))
        await slurm('scancel', numbers.at(-1) ?? '')
      },
    ],
  ])('%s, and the blocks before it are kept', async (_, expected, end) => {
    const held = await inBlock2()
    const { folder, running, job } = held
    await end(held)
    const { stderr } = await running.ended
    expect(stderr).toMatch(expected)
    expect(processesIn(folder)).toEqual([])
    await isOver(job)
    const { verdict, outcomes } = await readResult(folder)
    expect(verdict).toMatchObject({ verdict: 'inconclusive', reason: expect.stringMatching(expected) })
    expect(outcomes.map(({ status }) => status)).toEqual(['finished', 'finished', 'cancelled', 'not-run'])
    const again = await resumed(folder)
    expect(again.stdout).toContain('--resume goes on in a new allocation, on nodes of the same kind')
    expect(again.stdout).toContain('kept from before --resume')
    expect(again).toMatchObject({ exitCode: 0 })
  })

  it('with a node that is lost, which is not seen empty, and nothing more is launched', async () => {
    const { folder, running, job } = await inBlock2({ launch: { slurm: { partition: 'lossy' } } })
    const agent = agentsIn(folder).find((pid) => variablesOf(pid).includes('SLURMD_NODENAME=n20'))
    const [daemon] = processesWith('slurmd -N n20 ', process.env.SLURM_CONF ?? '')
    for (const pid of [daemon, agent]) process.kill(pid ?? Number.NaN, 'SIGKILL')
    try {
      const { stderr } = await running.ended
      expect(stderr).toMatch(/one of its nodes failed.*node n20 is not seen empty/)
      const { outcomes, verdict } = await readResult(folder)
      expect(outcomes.map(({ status }) => status)).toEqual(['finished', 'finished', 'cancelled', 'not-run'])
      expect(verdict.reason).toContain('node n20 is not seen empty')
      // Its reaper, which has outlived it, ends the ranks.
      await isEmpty(folder)
      await isOver(job)
    } finally {
      await slurm('slurmd', '-N', 'n20', '-f', process.env.SLURM_CONF ?? '')
    }
  })

  it('by Ctrl-C, with 130 and an allocation that is given back', async () => {
    const { folder, running, job } = await inBlock2()
    running.pressCtrlC()
    expect(await running.ended).toMatchObject({ exitCode: 130 })
    expect(processesIn(folder)).toEqual([])
    await isOver(job)
  })

  it('by its timeout, as a failed one', async () => {
    const folder = await onNodes({ launch: { timeout_minutes: 0.1 } })
    await hold(folder, '01-block-1-baseline')
    const running = start(folder)
    const job = await jobOf(running)
    await running.ended
    expect(processesIn(folder)).toEqual([])
    await isOver(job)
    const { outcomes } = await readResult(folder)
    expect(outcomes[0]).toMatchObject({ status: 'failed', reason: 'timed-out' })
  })

  it.each(['crash', 'ignore-sigterm'])('as failed by what its first rank does (%s)', async (fault) => {
    const folder = await onNodes({ baseline: { fault, fault_step: 2 }, launch: { timeout_minutes: 0.2 } })
    await start(folder).ended
    expect(processesIn(folder)).toEqual([])
    const { outcomes } = await readResult(folder)
    expect(outcomes[0]).toMatchObject({ status: 'failed' })
  })

  it('of an allocation around it by scancel, and not by the SIGKILL of the salloc that took it', async () => {
    const folder = await onNodes()
    await hold(folder, HELD)
    const name = `--job-name=${basename(folder)}`
    const command = [process.execPath, CLI, 'run', EXPERIMENT_FILE, '--out', join(folder, 'out')]
    const environment = { ...process.env, XDG_STATE_HOME: folder }
    const running = promisify(execFile)('salloc', [name, '--nodes=2', '--exclusive', ...command], {
      cwd: folder,
      env: environment,
    }).catch((error: { stderr: string }) => error)
    const ranks = await ranksOf(folder, HELD)
    for (const pid of processesWith('salloc', folder)) process.kill(pid, 'SIGKILL')
    const job = await slurm('squeue', '--noheader', `--name=${basename(folder)}`, '--format=%i')
    expect(ranks.every((pid) => processesIn(folder).includes(pid))).toBe(true)
    await slurm('scancel', job)
    expect((await running).stderr).toContain('cancelled it (scancel)')
    await isEmpty(folder)
    expect((await readResult(folder)).outcomes[0]).toMatchObject({ status: 'finished' })
  })
})
