// The shipped trainer on two nodes of a real Slurm, which share no folder but that of the error files.
import { execFile } from 'node:child_process'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { readErrorFiles } from '../../src/io/process/log/error-files.ts'
import { aFolder, PYTHON, ROOT } from '../fixtures/processes/launching.ts'

const CONFIG = join(ROOT, 'configs', 'train', 'smoke-baseline.yaml')
const SHORT = ['train.updates=4', 'optimizer.warmup_updates=2', 'data.advection1d.trajectories=8']
const SETTINGS = SHORT.flatMap((setting) => ['--set', setting])

/** What the agents of both nodes print; `errors`: for their error files. Data and output are each node's own. */
async function train(folder: string, errors: string, ...more: string[]) {
  const [address, port] = ['127.0.0.1', String(20_000 + Math.floor(Math.random() * 10_000))]
  const meeting = [
    '--rdzv-backend',
    'static',
    '--rdzv-endpoint',
    `${address}:${port}`,
    '--local-addr',
    address,
  ]
  const script = join(folder, 'node.sh')
  const words = ['-m', 'torch.distributed.run', '--nnodes', '2', '--nproc-per-node', '1', ...meeting]
  const training = ['-m', 'trainer', 'train', '--config', CONFIG, '--seed', '1', ...SETTINGS, ...more]
  const own = `--node-rank "$SLURM_NODEID" --log-dir ${join(folder, errors)}`
  const place = `--out ${folder}/out-$SLURM_NODEID --set data.root=${folder}/data-$SLURM_NODEID`
  await writeFile(
    script,
    `export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo\nexec ${PYTHON} ${words.join(' ')} ${own} ${training.join(' ')} ${place}\n`,
  )
  const step = ['--nodes=2', '--ntasks=2', `--chdir=${ROOT}`, '--kill-on-bad-exit=0']
  return await promisify(execFile)('srun', [...step, 'sh', script], { timeout: 240_000 }).then(
    ({ stdout, stderr }) => ({ isRefused: false, said: stdout + stderr }),
    (error: { stdout: string; stderr: string }) => ({ isRefused: true, said: error.stdout + error.stderr }),
  )
}

it('data hash over ranks, a checkpoint that one node sees, and the error files of both', async () => {
  const folder = await aFolder()
  const data = [PYTHON, ['-m', 'trainer', 'generate-data', '--config', CONFIG, ...SETTINGS]] as const
  await promisify(execFile)(data[0], [...data[1], '--set', `data.root=${folder}/data-0`], {
    cwd: ROOT,
  })
  await cp(join(folder, 'data-0'), join(folder, 'data-1'), { recursive: true })

  const trained = await train(folder, 'errors-none', '--set', 'train.checkpoint_every_updates=2')
  expect(trained, trained.said).toMatchObject({ isRefused: false })
  const lines = await readFile(join(folder, 'out-0', 'metrics.jsonl'), 'utf8')
  expect(JSON.parse(lines.split('\n')[0] ?? '')).toMatchObject({
    world_size: 2,
    data_hash: expect.any(String),
  })
  expect(await readErrorFiles(join(folder, 'errors-none'), 2)).toEqual([])

  const resumed = await train(folder, 'errors-resume', '--resume')
  expect(resumed.isRefused).toBe(true)
  const refusals = await readErrorFiles(join(folder, 'errors-resume'), 2)
  expect(refusals.map(({ rank }) => rank).sort()).toEqual([0, 1])
  for (const { message } of refusals) expect(message).toContain('name a folder that all nodes see')

  const names = await readdir(join(folder, 'data-1'), { recursive: true })
  const file = names.find((name) => name.endsWith('.hdf5')) ?? ''
  await promisify(execFile)(PYTHON, [
    '-c',
    'import h5py, sys\nwith h5py.File(sys.argv[1], "r+") as file: file["tensor"][:] = 2 * file["tensor"][:]',
    join(folder, 'data-1', file),
  ])
  const other = await train(folder, 'errors-data')
  expect(other.isRefused).toBe(true)
  const unequal = await readErrorFiles(join(folder, 'errors-data'), 2)
  expect(unequal.map(({ rank }) => rank).sort()).toEqual([0, 1])
  for (const { message } of unequal) expect(message).toContain('the ranks read different data')
})
