// What a training needs from its host in addition to Python and GPUs: a compiler, memory, disk, the lock, a user.
import { lookup } from 'node:dns/promises'
import { accessSync, constants, existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { hostname, userInfo } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RunError } from '../../errors.ts'
import { type DoctorFinding, missing, ready } from '../../judge/machine/doctor.ts'
import type { GpuFacts } from '../../measure/machine-record.ts'
import { bytes } from '../../text/numbers.ts'
import { lockFolder, lockHost, lockNames } from './lock.ts'
import type { MachineContext } from './nvidia-smi.ts'

/** What shares memory between the processes of a node, NCCL and data loaders, fails with Docker's 64 MB. */
const MIN_SHARED_MEMORY_BYTES = 2 ** 30
const MIN_DISK_BYTES = 2e9
const LOCK_TRIAL_MINUTES = 0.02
/** A resolver that asks servers in vain takes longer. */
const NAME_SECONDS = 5

/** Null where the host's own name has an address, as launchers of several ranks and gloo expect; else why it has none. */
export async function hostNameProblem(name = hostname()): Promise<string | null> {
  const late = sleep(NAME_SECONDS * 1000, `no answer within ${NAME_SECONDS} s`, { ref: false })
  const why = await Promise.race([lookup(name).then(() => null, codeOf), late])
  return why === null ? null : `the host's own name, ${name}, has no address (${why})`
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}

/** What the name is to a launch of several ranks, and how to give it an address. */
export function hostNameRemedy(isShortForm: boolean, name = hostname()): string {
  const mend = `run echo "127.0.0.1 ${name}" | sudo tee -a /etc/hosts, or start the container with --add-host ${name}:127.0.0.1`
  return isShortForm
    ? `torchrun gets the address 127.0.0.1 and needs no name; for other programs ${mend}`
    : `torchrun may wait for it until launch.timeout_minutes is over: ${mend}`
}

export async function hostNameFinding(isShortForm: boolean, name = hostname()): Promise<DoctorFinding> {
  const detail = await hostNameProblem(name)
  if (detail === null) return ready('host name', `${name} has an address`)
  const remedy = hostNameRemedy(isShortForm, name)
  return isShortForm
    ? { subject: 'host name', status: 'advice', detail, remedy }
    : missing('host name', detail, remedy)
}

export async function hostFindings(
  { environment }: MachineContext,
  outDirectory: string,
): Promise<DoctorFinding[]> {
  return [
    compilerFinding(environment),
    await sharedMemoryFinding(),
    await diskFinding(outDirectory),
    userFinding(),
  ]
}

/** torch.compile needs one: for kernels on the CPU, and Triton for its launchers on a GPU. */
function compilerFinding({ CXX, PATH = '' }: Readonly<Record<string, string>>): DoctorFinding {
  const names = CXX ? [CXX] : ['g++', 'c++', 'clang++']
  const folders = PATH.split(delimiter)
  const found = names.find((name) =>
    name.includes('/') ? isExecutable(name) : folders.some((folder) => isExecutable(join(folder, name))),
  )
  return found === undefined
    ? missing(
        'C++ compiler',
        `found none of ${names.join(', ')}`,
        'install one, such as with apt-get install g++; torch.compile needs it',
      )
    : ready('C++ compiler', found)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

async function sharedMemoryFinding(): Promise<DoctorFinding> {
  const size = await statfs('/dev/shm').then(
    ({ blocks, bsize }) => blocks * bsize,
    () => null,
  )
  const subject = 'shared memory'
  if (size === null) return { subject, status: 'advice', detail: 'no /dev/shm on this system', remedy: null }
  return size >= MIN_SHARED_MEMORY_BYTES
    ? ready(subject, `/dev/shm has ${bytes(size)}`)
    : {
        subject,
        status: 'advice',
        detail: `/dev/shm has ${bytes(size)}, NCCL and data loaders may need more`,
        remedy: 'start the container with --ipc=host or --shm-size=8g',
      }
}

async function diskFinding(directory: string): Promise<DoctorFinding> {
  const place = existingParent(directory)
  const { bavail, bsize } = await statfs(place)
  const free = bavail * bsize
  return free >= MIN_DISK_BYTES
    ? ready('disk', `${bytes(free)} free at ${place}`)
    : missing('disk', `${bytes(free)} free at ${place}`, 'free some, or name another folder with --out')
}

function existingParent(directory: string): string {
  return existsSync(directory) ? directory : existingParent(dirname(directory))
}

export async function lockFinding(
  { cancelled }: MachineContext,
  python: string,
  gpus: readonly GpuFacts[],
): Promise<DoctorFinding> {
  const folder = lockFolder(process.env)
  const names = lockNames(gpus)
  try {
    await using lock = await lockHost({
      names,
      folder,
      python,
      limitMinutes: LOCK_TRIAL_MINUTES,
      cancelled,
      onWait: () => {},
    })
    return lock.facts.status === 'timed-out'
      ? {
          subject: 'lock',
          status: 'advice',
          detail: `held by ${lock.facts.waitedFor}`,
          remedy: 'an experiment waits until the lock is free',
        }
      : ready('lock', `${names.length === 1 ? 'is' : 'all are'} free in ${folder}`)
  } catch (error) {
    if (!(error instanceof RunError)) throw error
    return missing('lock', error.message, 'the lock keeps two experiments from disturbing each other')
  }
}

function userFinding(): DoctorFinding {
  const { username, uid } = userInfo()
  return uid === 0
    ? {
        subject: 'user',
        status: 'advice',
        detail: 'root',
        remedy: 'run the runner as a separate user, because trainings run the code of pull requests',
      }
    : ready('user', username)
}
