// What a launch costs beside its training, on this host and as a job step of Slurm:
//     npx tsc -p tsconfig.build.json && node benchmarks/speed/slurm-launches.ts
// Prints seconds from the start of one launch to the start of the next, of a training whose twenty steps take 1 ms each.
// On a cluster it takes its nodes; without one it starts the Slurm of tests/slurm on this host.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { setup } from '../../tests/slurm/cluster.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const BLOCKS = 3
const ROUNDS = 3
const CASES = {
  'this host': {},
  'Slurm, one node': { engine: 'slurm' },
  'Slurm, two nodes': { engine: 'slurm', nodes: 2 },
}

async function measure(launch: object): Promise<{ between: number[]; wall: number[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'speedproof-launches-'))
  const experiment = {
    name: 'launches',
    kind: 'same-work',
    trainer: { script: join(ROOT, 'tests', 'fixtures', 'trainers', 'faulty.py') },
    launch: { python: join(ROOT, '.venv', 'bin', 'python'), ...launch },
    variants: { baseline: { config: 'baseline.json' }, optimized: { config: 'optimized.json' } },
    design: { blocks: BLOCKS, warm_up_launches: 1 },
    gates: { loss_delta: { below: 1, severity: 'info' } },
  }
  await writeFile(join(folder, 'experiment.yaml'), JSON.stringify(experiment))
  for (const name of ['baseline', 'optimized'])
    await writeFile(
      join(folder, `${name}.json`),
      JSON.stringify({ steps: 20, speed: { step_seconds: 0.001, switch: name } }),
    )
  const environment = { ...process.env, SPEEDPROOF_LOCK_FOLDER: folder, XDG_STATE_HOME: folder }
  const command = [join(ROOT, 'lib', 'cli.js'), 'run', 'experiment.yaml']
  // Whatever the verdict is: it is not asked for here.
  await promisify(execFile)(process.execPath, command, { cwd: folder, env: environment }).catch(() => {})
  const { launches } = JSON.parse(await readFile(join(folder, 'out', 'result.json'), 'utf8'))
  await rm(folder, { recursive: true })
  // The first two fill caches.
  const counted = launches.slice(2)
  const starts = counted.map(({ startedAt }: { startedAt: string }) => Date.parse(startedAt) / 1000)
  return {
    between: starts.slice(1).map((start: number, index: number) => start - starts[index]),
    wall: counted.map(({ result }: { result: { wallSeconds: number } }) => result.wallSeconds),
  }
}

function summary(seconds: readonly number[]): string {
  const sorted = [...seconds].sort((one, other) => one - other)
  const [least, median, most] = [0, Math.floor(sorted.length / 2), sorted.length - 1].map((at) => sorted[at])
  return [median, least, most].map((value) => (value ?? Number.NaN).toFixed(2)).join('  ')
}

const stop = process.env.SLURM_CONF === undefined ? await setup() : async () => {}
try {
  const found = Object.keys(CASES).map((name) => ({ name, between: [] as number[], wall: [] as number[] }))
  // In turns, so that what else the host does meets all of them.
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [index, launch] of Object.values(CASES).entries()) {
      const { between, wall } = await measure(launch)
      found[index]?.between.push(...between)
      found[index]?.wall.push(...wall)
    }
  const [load = Number.NaN] = loadavg()
  console.log(`${cpus()[0]?.model}, ${cpus().length} cores, load ${load.toFixed(1)} at the end`)
  console.log(`Seconds: median, least, most of ${2 * BLOCKS * ROUNDS} launches in ${ROUNDS} rounds`)
  for (const { name, between, wall } of found)
    console.log(`${name.padEnd(18)} from start to start ${summary(between)}   of the launch ${summary(wall)}`)
} finally {
  await stop()
}
