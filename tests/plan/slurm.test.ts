// What Slurm is asked for: whole nodes for the experiment, and one task on each for a launch.
import { expect, test } from 'vitest'
import { allocationCommand, stepCommand } from '../../src/plan/slurm.ts'
import { anExperiment } from '../fixtures/builders.ts'

const { launch } = anExperiment()
const PLACE = {
  python: '/shared/it is/python',
  agent: '/shared/agent.py',
  workingDirectory: '/shared/work',
  gpusPerNode: 8,
  processes: 8,
  leaseFile: '/shared/lease',
}
const allocated = (slurm: NonNullable<typeof launch.slurm>, place = PLACE) =>
  allocationCommand(
    anExperiment({ launch: { ...launch, engine: 'slurm', nodes: 2, slurm } }),
    place,
    '/shared/job.txt',
  )

test('an allocation has whole nodes, what the experiment adds, and a job that ends with its lease', () => {
  const options = ['--constraint=h100']
  const command = allocated({ partition: 'gpu', account: 'lab', time_minutes: 90, options })
  expect(command.slice(0, -1)).toEqual(
    expect.arrayContaining([
      ...['sbatch', '--nodes=2', '--exclusive', '--gpus-per-node=8', '--partition=gpu', '--account=lab'],
      ...['--time=90', '--no-requeue', '--constraint=h100'],
    ]),
  )
  expect(command.at(-1)).toBe(
    "--wrap=exec '/shared/it is/python' '-I' '-S' '/shared/agent.py' 'hold' '/shared/lease' '60'",
  )
})

test('without GPUs none are asked for', () => {
  expect(allocated({ options: [] }, { ...PLACE, gpusPerNode: 0 }).join(' ')).not.toContain('gpus')
})

test('a step hands over named variables alone, and never the whole environment', () => {
  const step = (names: string[]) =>
    stepCommand({ ...PLACE, jobId: '7', nodes: ['a', 'b'], names }, ['launch'])
  expect(step(['PATH', 'HOME'])).toEqual(
    expect.arrayContaining([
      '--jobid=7',
      '--nodelist=a,b',
      '--ntasks=2',
      '--ntasks-per-node=1',
      '--export=PATH,HOME',
    ]),
  )
  expect(step([])).toContain('--export=NONE')
})
