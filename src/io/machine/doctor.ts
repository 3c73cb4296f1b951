// Looks for all that an experiment needs from a machine, and says how to fix what is missing.
import { join, resolve } from 'node:path'
import { z } from 'zod'
import type { Overrides } from '../../config/overrides/overrides.ts'
import { parseExperiment } from '../../config/parse-experiment.ts'
import { type DoctorFinding, missing, ready } from '../../judge/machine/doctor.ts'
import type { MachineCheck } from '../../judge/machine/machine-check.ts'
import { checkPreflight } from '../../judge/machine/preflight.ts'
import type { GpuFacts, Measured, Preflight } from '../../measure/machine-record.ts'
import { isShortForm } from '../../plan/torchrun.ts'
import { refuseSurrounding } from '../folder/own-folder.ts'
import { checkEnvironments } from '../load/resolve-config.ts'
import { runShort } from '../process/short-command.ts'
import { trainerEnvironment } from '../process/trainer-environment.ts'
import { checkoutAround, refusalOfCheckout } from '../revisions/git.ts'
import { packageRoot } from '../system/package-root.ts'
import { tryParseJson } from '../system/parse-json.ts'
import { readText } from '../system/read-text.ts'
import { hostFindings, hostNameFinding, lockFinding } from './host.ts'
import type { MachineContext } from './nvidia-smi.ts'
import { findGpus, processesOn } from './preflight.ts'

export interface Visit {
  /** Relative to the working directory; null asks for what every experiment needs. */
  readonly experimentFile: string | null
  readonly workingDirectory: string
  readonly outDirectory: string
  readonly overrides: Overrides
  readonly cancelled: AbortSignal
}

interface DoctorRequest {
  readonly context: MachineContext
  readonly python: string
  readonly processes: number
  /** Of torchrun, on this host alone: it gets its address from us. */
  readonly isShortForm: boolean
  readonly outDirectory: string
  /** Files and folders that a training reads, relative to the working directory. */
  readonly data: readonly string[]
}

/** Throws a ConfigError for an experiment that cannot be read, and for a folder that takes no results; all else is a finding. */
export async function examine(visit: Visit): Promise<DoctorFinding[]> {
  refuseSurrounding(visit.outDirectory, visit.workingDirectory)
  const request = await requestOf(visit)
  const gpus = await findGpus(request)
  const ofPython = await pythonFindings(request, gpus)
  return [
    ...ofPython,
    ...(await gpuFindings(request, gpus)),
    ...(await hostFindings(request.context, request.outDirectory)),
    ...(await checkoutFindings(request.context)),
    ...(request.processes > 1 || !request.isShortForm ? [await hostNameFinding(request.isShortForm)] : []),
    ...(await lockFindings(request, ofPython, gpus)),
  ]
}

async function requestOf({ experimentFile, overrides, ...visit }: Visit): Promise<DoctorRequest> {
  const { workingDirectory, cancelled, outDirectory } = visit
  const launch = experimentFile === null ? null : await launchOf(experimentFile, workingDirectory, overrides)
  return {
    context: {
      environment: trainerEnvironment(process.env, launch?.env ?? {}),
      workingDirectory,
      cancelled,
    },
    python: launch?.python ?? overrides.python ?? 'python3',
    processes: launch?.nproc_per_node ?? overrides['nproc-per-node'] ?? 1,
    isShortForm: launch === null || isShortForm(launch),
    outDirectory,
    data: launch?.data ?? [DATA_FOLDER],
  }
}

/** Of the shipped trainer, and of many others. */
const DATA_FOLDER = 'data'

async function launchOf(experimentFile: string, workingDirectory: string, overrides: Overrides) {
  const text = await readText(resolve(workingDirectory, experimentFile), experimentFile)
  const experiment = parseExperiment(text, experimentFile, overrides)
  checkEnvironments(experiment, experimentFile)
  return { ...experiment.launch, data: experiment.data }
}

const interpreter = z.object({
  python: z.string(),
  torch: z
    .object({ version: z.string(), hasTorchrun: z.boolean(), cuda: z.string().nullable(), gpus: z.int() })
    .nullable(),
  unlocked: z.record(z.string(), z.string()).default({}),
})

async function pythonFindings(
  { context, python, data }: DoctorRequest,
  gpus: Measured<GpuFacts[]>,
): Promise<DoctorFinding[]> {
  const script = join(packageRoot(), 'src', 'io', 'machine', 'doctor.py')
  const { environment, workingDirectory, cancelled } = context
  const asked = await runShort([python, script, ...data], workingDirectory, environment, cancelled)
  if (asked.status === 'no-answer') {
    return [missing('Python', `"${python}" cannot be started: ${asked.message}`, NAME_PYTHON)]
  }
  const found = interpreter.safeParse(tryParseJson(asked.stdout)).data
  if (found === undefined) {
    const last = asked.stderr.trim().split('\n').at(-1) || 'it did not report a Python version'
    return [missing('Python', `"${python}" ended with exit code ${asked.exitCode}: ${last}`, NAME_PYTHON)]
  }
  const [major = 0, minor = 0] = found.python.split('.').map(Number)
  const isNew = major > 3 || (major === 3 && minor >= 10)
  return [
    isNew
      ? ready('Python', `${found.python} (${python})`)
      : missing('Python', `${found.python} (${python}), expected 3.10 or newer`, NAME_PYTHON),
    torchFinding(found.torch, python, gpus),
    ...dataFindings(found.unlocked, context.environment),
  ]
}

/** Without a checkout there is nothing to say: then a record names no commit, as expected. */
async function checkoutFindings({ workingDirectory, cancelled }: MachineContext): Promise<DoctorFinding[]> {
  if (checkoutAround(workingDirectory) === null) return []
  const refusal = await refusalOfCheckout({ workingDirectory, cancelled })
  return [
    refusal === null
      ? ready('git', 'reads the checkout')
      : missing('git', refusal, 'until then a record names no commit, and no revision can be compared'),
  ]
}

/** A Python program takes the lock: of an interpreter that cannot be used there is nothing more to say. */
async function lockFindings(
  { context, python }: DoctorRequest,
  ofPython: readonly DoctorFinding[],
  gpus: Measured<GpuFacts[]>,
): Promise<DoctorFinding[]> {
  if (ofPython.some(({ subject, status }) => subject === 'Python' && status === 'missing')) return []
  return [await lockFinding(context, python, gpus.status === 'measured' ? gpus.value : [])]
}

const NAME_PYTHON = 'name another interpreter with --python, or with launch.python in the experiment'

function torchFinding(
  torch: z.infer<typeof interpreter>['torch'],
  python: string,
  gpus: Measured<GpuFacts[]>,
): DoctorFinding {
  if (torch === null || !torch.hasTorchrun) {
    return missing(
      'torch',
      `"${python}" has ${torch === null ? 'no torch' : 'a torch without torchrun'}`,
      NAME_PYTHON,
    )
  }
  const build = torch.cuda === null ? 'built for the CPU' : `built for CUDA ${torch.cuda}`
  if (gpus.status === 'measured' && torch.gpus < gpus.value.length) {
    return missing(
      'torch',
      `${torch.version}, ${build}, sees ${torch.gpus} of ${gpus.value.length} GPUs`,
      'install a torch that is built for CUDA and not newer than the driver',
    )
  }
  return ready('torch', `${torch.version} with torchrun, ${build}`)
}

/** HDF5 locks what it reads. */
function dataFindings(
  unlocked: Readonly<Record<string, string>>,
  { HDF5_USE_FILE_LOCKING: hdf5 }: Readonly<Record<string, string>>,
): DoctorFinding[] {
  if (hdf5?.toUpperCase() === 'FALSE') return []
  return Object.entries(unlocked).map(([path, reason]) =>
    missing(
      'data',
      `${path} lies on a file system without locks (${reason}), where HDF5 opens no file`,
      'set HDF5_USE_FILE_LOCKING=FALSE in the environment, which a training gets too',
    ),
  )
}

/** As before an experiment, but without a load on the GPUs. */
async function gpuFindings(
  { context, processes }: DoctorRequest,
  gpus: Measured<GpuFacts[]>,
): Promise<DoctorFinding[]> {
  if (gpus.status === 'not-measured') {
    return [
      {
        subject: 'GPUs',
        status: 'advice',
        detail: `none: ${gpus.reason}`,
        remedy: 'a trial can run on the CPU, but gates on the machine and on GPU memory need a GPU',
      },
    ]
  }
  const facts: Pick<Preflight, 'gpus' | 'processes' | 'processesWanted'> = {
    gpus,
    processes: await processesOn(gpus.value, context),
    processesWanted: processes,
  }
  const checks = checkPreflight({ ...facts, probes: { status: 'not-measured', reason: 'no probe' } })
  return [...checks.filter(({ name }) => name !== 'GPU probe').map(findingOf), ...persistence(gpus.value)]
}

function findingOf({ name, status, detail }: MachineCheck): DoctorFinding {
  if (status === 'passed') return ready(name, detail)
  return status === 'failed'
    ? missing(name, detail, 'fix this, or every experiment on this machine is invalid')
    : { subject: name, status: 'advice', detail, remedy: null }
}

function persistence(gpus: readonly GpuFacts[]): DoctorFinding[] {
  return gpus.some(({ persistenceMode }) => persistenceMode === 'Disabled')
    ? [
        {
          subject: 'persistence',
          status: 'advice',
          detail: 'off: the driver starts again for every run',
          remedy: 'run sudo nvidia-smi -pm 1, or start the service nvidia-persistenced',
        },
      ]
    : []
}
