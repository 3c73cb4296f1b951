// The output folder of one experiment: one folder per run, result.json, the report. Nothing in it is overwritten.
import { readdir, rename } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import type { Variant } from '../../config/experiment.ts'
import type { TrainerInput } from '../../config/launch/trainer-input.ts'
import { ConfigError, InterferenceError, messageOf, RunError } from '../../errors.ts'
import type { WallSeconds } from '../../plan/estimate.ts'
import { type PlannedRun, planRuns } from '../../plan/plan.ts'
import { type RunFiles, TRAINER_FOLDER } from '../../plan/torchrun.ts'
import { parseRecorded, type Request, type Result } from '../../record/result.ts'
import { renderMarkdown } from '../../report/markdown.ts'
import { parseBounded, RECORD_LIMITS } from '../../text/bounded-json.ts'
import { packageRoot } from '../system/package-root.ts'
import { readText } from '../system/read-text.ts'
import { makeFolder } from './make-folder.ts'
import {
  isOwnFolder,
  isThere,
  makeNewFolder,
  makeOwnFolder,
  replaceOwnFile,
  writeOwnFile,
} from './own-file.ts'
import { MAX_RECORD_BYTES, markAsOurs, refuseForeign } from './own-folder.ts'

const EVALUATION = 'evaluation'
const RUNS = 'runs'
const CACHES = 'caches'
const ALLOCATIONS = 'allocations'
const LADDER_FILE = 'ladder.json'
const LADDER_REPORT = 'ladder.md'
const REPORT = 'report.md'
export const PAGE = 'report.html'
const OWN_FILES = ['result.json', REPORT, PAGE, LADDER_FILE, LADDER_REPORT, RUNS, EVALUATION, ALLOCATIONS]

/** Of the process that evaluates the final checkpoints once more. */
export interface EvaluationFiles {
  readonly numbersFile: string
  readonly logFile: string
}

export class Workspace {
  readonly directory: string

  constructor(directory: string) {
    this.directory = directory
  }

  /** Moves what an earlier experiment left here to earlier/<time>, then makes the folder. */
  static async fresh(directory: string): Promise<Workspace> {
    await refuseForeignFolder(directory)
    return await Workspace.#open(directory, () => moveToEarlier(directory, OWN_FILES))
  }

  /** With all that is in it, which may be a record alone. */
  static async reopened(directory: string): Promise<Workspace> {
    return await Workspace.#open(directory, async () => {})
  }

  static async #open(directory: string, prepare: () => Promise<void>): Promise<Workspace> {
    try {
      await makeFolder(directory)
      await markAsOurs(directory)
      await prepare()
      await makeOwnFolder(directory, RUNS)
    } catch (error) {
      throw cannotBeWritten(directory, error)
    }
    return new Workspace(directory)
  }

  /** A folder in it for a result without runs, for which no earlier result is moved. */
  static async beside(directory: string): Promise<Workspace> {
    return await Workspace.fresh(join(directory, 'not-run', timeName()))
  }

  /** Moves what these runs have left to earlier/<time>, before they are run again. */
  async setAside(runs: readonly PlannedRun[]): Promise<void> {
    await moveToEarlier(
      this.directory,
      runs.map(({ id }) => join(RUNS, id)),
    )
  }

  /** `configName`: of the file that the trainer gets, if it gets one. */
  runFiles({ id }: Pick<PlannedRun, 'id'>, configName: string | null = null): RunFiles {
    const folder = join(this.directory, RUNS, id)
    return {
      directory: folder,
      configFile: configName === null ? null : join(folder, configName),
      outDirectory: join(folder, TRAINER_FOLDER),
      errorDirectory: join(folder, 'errors'),
      logFile: join(folder, 'log.txt'),
      machineFile: join(folder, 'machine.jsonl'),
      profileDirectory: join(folder, 'profile'),
    }
  }

  /** Kept from experiment to experiment, apart per variant, so that neither compiles for the other. */
  cacheDirectory(variant: Variant): string {
    return join(this.directory, CACHES, variant)
  }

  /** Throws a RunError for a folder that is there: an earlier training of this call has put it there. */
  async prepareRun(run: PlannedRun, { file }: Pick<TrainerInput, 'file'>): Promise<RunFiles> {
    const files = this.runFiles(run, file?.name)
    await withWriteErrors(files.outDirectory, async () => {
      await makeOwnFolder(this.directory, RUNS)
      if (isThere(files.directory)) throw plantedFolder(files.directory)
      for (const folder of [files.directory, files.errorDirectory, files.outDirectory])
        await makeNewFolder(folder)
      await makeOwnFolder(this.directory, CACHES, run.variant)
      if (files.configFile !== null && file !== null) await writeOwnFile(files.configFile, file.content)
    })
    return files
  }

  readonly agent = join(packageRoot(), 'src', 'io', 'engine', 'slurm', 'agent.py')

  allocationDirectory(time: string): string {
    return join(this.directory, ALLOCATIONS, time)
  }

  /** A new folder for what belongs to an allocation of a cluster, beside those of earlier calls. */
  async prepareAllocation(): Promise<string> {
    const folder = this.allocationDirectory(timeName())
    await withWriteErrors(folder, async () => {
      await makeOwnFolder(this.directory, ALLOCATIONS)
      await makeNewFolder(folder)
    })
    return folder
  }

  get evaluationFiles(): EvaluationFiles {
    const folder = join(this.directory, EVALUATION)
    return { numbersFile: join(folder, 'evaluations.jsonl'), logFile: join(folder, 'log.txt') }
  }

  /** What an earlier evaluation left goes to earlier/<time>. */
  async prepareEvaluation(): Promise<EvaluationFiles> {
    await withWriteErrors(join(this.directory, EVALUATION), async () => {
      await moveToEarlier(this.directory, [EVALUATION])
      await makeNewFolder(join(this.directory, EVALUATION))
    })
    return this.evaluationFiles
  }

  get resultFile(): string {
    return join(this.directory, 'result.json')
  }

  get reportFile(): string {
    return join(this.directory, REPORT)
  }

  /** Called after every launch, so that a kill loses at most the one that was running. */
  async save(result: Result): Promise<void> {
    await replaceFile(this.resultFile, `${JSON.stringify(result, null, 2)}\n`)
    await replaceFile(this.reportFile, renderMarkdown(result))
  }

  get ladderFile(): string {
    return join(this.directory, LADDER_FILE)
  }

  get ladderReportFile(): string {
    return join(this.directory, LADDER_REPORT)
  }

  /** Called after every launch of a ladder. */
  async saveLadder(record: string, report: string): Promise<void> {
    await replaceFile(this.ladderFile, record)
    await replaceFile(this.ladderReportFile, report)
  }

  /** What belongs to this experiment: not the compile caches, not earlier results. Relative to the folder. */
  async artifactFiles(): Promise<string[]> {
    const names = [RUNS, EVALUATION].map((name) => join(this.directory, name))
    const areOurs = await Promise.all(names.map(isOwnFolder))
    const folders = names.filter((_, index) => areOurs[index])
    const entries = await Promise.all(
      folders.map((folder) => readdir(folder, { recursive: true, withFileTypes: true })),
    )
    const inFolders = entries
      .flat()
      .filter((entry) => entry.isFile())
      .map((entry) => relative(this.directory, join(entry.parentPath, entry.name)))
    return ['result.json', REPORT, ...inFolders]
  }
}

/** Throws a ConfigError for a folder that cannot be made or written. */
export async function makeOutputFolder(directory: string): Promise<void> {
  try {
    await makeFolder(directory)
  } catch (error) {
    throw cannotBeWritten(directory, error)
  }
}

function cannotBeWritten(directory: string, error: unknown): ConfigError {
  return new ConfigError(
    `out: got "${directory}", which cannot be written (${messageOf(error)}); name another folder`,
  )
}

/** Throws a ConfigError for a folder in which an experiment would move files that are not ours. */
export async function refuseForeignFolder(directory: string): Promise<void> {
  await refuseForeign(directory, OWN_FILES)
}

/** The same for the folder above those of several experiments, which gets their common report. */
export async function refuseForeignReport(directory: string): Promise<void> {
  await refuseForeign(directory, [REPORT, PAGE])
}

/** The common report of several experiments, in the folder above theirs; an earlier one goes to earlier/<time>. */
export async function saveCommonReport(directory: string, report: string): Promise<string> {
  const file = join(directory, REPORT)
  await markAsOurs(directory)
  await moveToEarlier(directory, [REPORT, PAGE])
  await replaceFile(file, report)
  return file
}

/** The HTML report, beside the other one. */
export async function savePage(directory: string, page: string): Promise<void> {
  await replaceFile(join(directory, PAGE), page)
}

/** How long the launches of the last result took, if it is of the same experiment. */
export async function earlierTimes(workspace: Workspace, { experiment }: Request): Promise<WallSeconds> {
  try {
    const recorded = parseRecorded(
      parseBounded(
        await readText(workspace.resultFile, workspace.resultFile, MAX_RECORD_BYTES),
        RECORD_LIMITS,
      ),
      workspace.resultFile,
    )
    if (recorded.experiment.name !== experiment.name) return new Map()
    const plan = planRuns(recorded.experiment)
    const finished = recorded.launches.flatMap(({ runId, result }) => {
      const run = plan.find(({ id }) => id === runId)
      return run && result.status === 'exited' && result.exitCode === 0
        ? [[run, result.wallSeconds] as const]
        : []
    })
    return new Map(finished)
  } catch {
    return new Map() // No earlier result, or one that cannot be read: then there is no estimate.
  }
}

/** Now, as a name that any file system takes. */
function timeName(): string {
  return new Date().toISOString().replaceAll(':', '-')
}

async function moveToEarlier(directory: string, names: readonly string[]): Promise<void> {
  const earlier = join(directory, 'earlier', timeName())
  for (const name of names.filter((one) => isThere(join(directory, one)))) {
    await makeOwnFolder(directory, ...dirname(relative(directory, join(earlier, name))).split(sep))
    await rename(join(directory, name), join(earlier, name)).catch((error: unknown) => {
      if (!isAbsent(error)) throw error // else another process has moved it meanwhile
    })
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

async function replaceFile(path: string, text: string): Promise<void> {
  await withWriteErrors(path, () => replaceOwnFile(path, text))
}

function plantedFolder(folder: string): InterferenceError {
  return new InterferenceError(
    `out: ${folder} is there before its training starts, so an earlier training of this experiment has made it. What it holds could pass for this run's, so nothing more is launched. Find out what wrote it`,
  )
}

/** Throws a RunError where the system refuses what it allowed at the start: no bug of ours. */
async function withWriteErrors(path: string, write: () => Promise<void>): Promise<void> {
  try {
    await write()
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error
    const remedy = isAbsent(error)
      ? 'Its folder was probably removed: leave it alone while an experiment runs'
      : 'Fix the cause, for example by making room; what was written so far is kept'
    throw new RunError(`out: ${path} cannot be written any more (${error.message}). ${remedy}`)
  }
}
