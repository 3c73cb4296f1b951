// Installs Slurm where it is missing, and starts one of 24 nodes for the tests.
import { execFile, execFileSync } from 'node:child_process'
import { accessSync, constants, globSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { listProcesses } from '../../src/io/process/process-table.ts'

const PROGRAMS = ['slurmctld', 'slurmd', 'srun', 'sbatch', 'munged']
const PACKAGES = ['slurm-wlm', 'munge']
/** Where Debian has daemons. */
const PLACES = ['/usr/sbin', '/sbin']

export async function setup(): Promise<() => Promise<void>> {
  process.env.PATH = [...(process.env.PATH ?? '').split(delimiter), ...PLACES].join(delimiter)
  install(PROGRAMS.filter((program) => !isInstalled(program)))
  const folder = await mkdtemp(join(tmpdir(), 'speedproof-slurm-'))
  const stop = async () => {
    await stopCluster(folder)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await promisify(execFile)(join(import.meta.dirname, 'start.sh'), [folder])
  } catch (error) {
    await stop()
    throw error
  }
  process.env.SLURM_CONF = join(folder, 'slurm.conf')
  return stop
}

function install(missing: readonly string[]): void {
  if (missing.length === 0) return
  const remedy = `apt-get install ${PACKAGES.join(' ')}`
  if (process.getuid?.() !== 0 || !isInstalled('apt-get'))
    throw new Error(
      `${missing.join(', ')} missing on PATH; run "${remedy}" as root, or install Slurm and munge`,
    )
  const options = { stdio: 'inherit', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } } as const
  execFileSync('apt-get', ['update'], options)
  execFileSync('apt-get', ['install', '--yes', '--no-install-recommends', ...PACKAGES], options)
}

function isInstalled(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

async function stopCluster(folder: string): Promise<void> {
  const files = globSync(join(folder, 'run', '*.pid'))
  const pids = await Promise.all(files.map(async (path) => Number((await readFile(path, 'utf8')).trim())))
  const alive = () => listProcesses().filter(({ pid }) => pids.includes(pid))
  for (const { pid } of alive()) process.kill(pid, 'SIGTERM')
  for (let tries = 0; tries < 100 && alive().length > 0; tries += 1) await sleep(50)
  for (const { pid } of alive()) process.kill(pid, 'SIGKILL')
}
