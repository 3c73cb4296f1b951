// Opens the output folder of each experiment: empty, or with what an interrupted one has finished there.
import { existsSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { VARIANTS } from '../../config/experiment.ts'
import { type Difference, differencesOf } from '../../config/same-work/differences.ts'
import { ResumeError } from '../../errors.ts'
import { sortAttempts } from '../../judge/repeat.ts'
import type { LockFacts, Watched } from '../../measure/machine-record.ts'
import type { Launched } from '../../measure/outcome.ts'
import { isMeasured, planRuns, repeatOf } from '../../plan/plan.ts'
import { programOf } from '../../plan/program.ts'
import type { Request } from '../../record/result.ts'
import { differenceText } from '../../report/setting.ts'
import { shellQuote } from '../../text/shell-quote.ts'
import { listed } from '../../text/wording.ts'
import { Workspace } from '../folder/workspace.ts'
import { hashCode, hashSources } from '../run/code-hash.ts'
import { type DataFiles, dataHashes, hashData } from '../run/data-hash.ts'
import { plainText } from '../system/sanitize.ts'
import type { Loaded } from './load-experiment.ts'
import { readRecorded } from './read-recorded.ts'
import { readToResume } from './read-to-resume.ts'

interface OpenedFolder {
  readonly workspace: Workspace
  /** Finished launches that need not be run again. */
  readonly kept: readonly Launched[]
}

export interface Opened extends Pick<Loaded, 'request' | 'places' | 'inputs'>, OpenedFolder {
  /** Under `data:`, before the first launch; null without any. */
  readonly data: DataFiles | null
}

type Asked = Pick<Loaded, 'request' | 'places' | 'directory'>

interface OpenStage {
  readonly cancelled: AbortSignal
  readonly note: (message: string) => void
}

/** On a machine that is not free nothing is run, so that nothing takes the place of an earlier result. */
export async function openAll(
  questions: readonly Loaded[],
  lock: LockFacts,
  resume: boolean,
  stage: OpenStage,
): Promise<Opened[]> {
  // Of several experiments the later ones may not have begun; one alone must have.
  const hasBegun = ({ directory }: Loaded) => existsSync(new Workspace(directory).resultFile)
  const isFirst = !questions.some(hasBegun)
  const opened: Opened[] = []
  for (const loaded of questions) {
    const data = lock.status === 'held' ? await dataOf(loaded, stage) : null
    const question = { ...loaded, request: { ...loaded.request, data: data && dataHashes(data, null) } }
    const { request, places, inputs, directory } = question
    const folder =
      lock.status === 'held'
        ? await openWorkspace(question, resume && (isFirst || hasBegun(question)))
        : { workspace: await Workspace.beside(directory), kept: [] }
    opened.push({ request, places, inputs, data, ...folder })
  }
  return opened
}

/** Once the machine is ours: what changes while a call waits for it is measured by nobody. */
async function dataOf(
  { request, places }: Loaded,
  { cancelled, note }: OpenStage,
): Promise<DataFiles | null> {
  const { name, data } = request.experiment
  if (data === undefined) return null
  note(`${name}: hashing the files under data: (${listed(data)})`)
  return await hashData(data, places, 'before', cancelled)
}

/** Throws a ResumeError if there is nothing to resume, or if it was another experiment or another host. */
async function openWorkspace(question: Asked, resume: boolean): Promise<OpenedFolder> {
  const { directory, request } = question
  if (!resume) return { workspace: await Workspace.fresh(directory), kept: [] }
  const workspace = new Workspace(directory)
  if (!existsSync(workspace.resultFile))
    throw new ResumeError(
      `--resume: ${directory} has no result.json, so there is nothing to resume. Name the folder of the interrupted experiment with --out, or start without --resume`,
    )
  const earlier = await readToResume(readRecorded(workspace.resultFile, (recorded) => recorded))
  requireSame(earlier.request, request, workspace.resultFile)
  requireSameData(earlier.request, request, workspace.resultFile)
  refuseUnlocked(earlier.watched, workspace.resultFile)
  const attempts = sortAttempts(earlier.launched, earlier.watched)
  refuseFailed(attempts.counting, workspace)
  // What was set aside stays so: a second chance is given once.
  const kept = [...attempts.setAside.keys(), ...wholeBlocks(attempts.counting)]
  await requireSameCode(kept, question, workspace)
  const again = planRuns(request.experiment)
    .flatMap((run) => [run, repeatOf(run)])
    .filter(({ id }) => !kept.some(({ outcome }) => outcome.run.id === id))
  await workspace.setAside(again)
  return { workspace, kept }
}

/** The unit of retry is the block: half of one was measured under conditions that the other half will not have. */
function wholeBlocks(launched: readonly Launched[]): Launched[] {
  const isFinished = ({ outcome }: Launched) => outcome.status === 'finished'
  return launched.filter((one) => {
    const { run } = one.outcome
    return isMeasured(run)
      ? launched.filter(({ outcome }) => outcome.run.block === run.block).every(isFinished)
      : isFinished(one)
  })
}

function requireSame(before: Request, after: Request, file: string): void {
  const [earlier, now] = [asPatient(before), asPatient(after)]
  const parts = (['experiment', 'configs', 'revision', 'sources', 'host', 'environment'] as const).filter(
    (key) =>
      !isDeepStrictEqual(plain(earlier[key]), plain(now[key])) && !(key === 'host' && isOnCluster(now)),
  )
  if (parts.length === 0) return
  const different = parts.flatMap((key) =>
    differencesOf(plain(earlier[key]), plain(now[key]), key === 'experiment' ? [] : [key]),
  )
  if (earlier.revision !== now.revision && different.every(({ key }) => REVISION_KEY.test(key)))
    throw new ResumeError(
      `--resume: ${file} was measured at ${earlier.revision ?? 'no commit'}, but the checkout is at ${now.revision ?? 'no commit'}. Restore the earlier checkout, or start without --resume`,
    )
  const onlyGates = different.every(({ key }) => key.split('.')[0] === 'gates')
  throw new ResumeError(
    `--resume: ${file} was measured with another ${parts.join(', ')}: ${firstOf(different)}. ${onlyGates ? judgeAgain(file) : BEGIN_AGAIN}`,
  )
}

/** Not where one of both was stopped before it had them. */
function requireSameData({ data: earlier }: Request, { data: now }: Request, file: string): void {
  if (earlier === null || now === null || isDeepStrictEqual(plain(earlier.before), plain(now.before))) return
  throw new ResumeError(
    `--resume: the files under data: have changed since ${file} was written; restore them, or start without --resume`,
  )
}

/** There it is the nodes that measure, whichever host starts it; their kind is compared once there are some. */
function isOnCluster({ experiment }: Request): boolean {
  return experiment.launch.engine === 'slurm'
}

/** How long one waits changes nothing that was measured, so a limit that was too short may be raised. */
function asPatient(request: Request): Request {
  const { slurm, ...rest } = request.experiment.launch
  const launch = {
    ...rest,
    ...{ timeout_minutes: 0, lock_minutes: 0 },
    ...(slurm === undefined ? {} : { slurm: { ...slurm, time_minutes: undefined } }),
  }
  return { ...request, experiment: { ...request.experiment, launch } }
}

/** Of the checkout, and of a variant that is taken from it. */
const REVISION_KEY = /^(sources\.\w+\.)?revision$/

const BEGIN_AGAIN = 'Its blocks cannot be compared with new ones; start without --resume'

function judgeAgain(file: string): string {
  return `To try other gates without a new run, use speedproof analyze ${shellQuote(file)} with --gates, --min-speedup or --max-loss-delta. For a new run, start without --resume`
}

/** As plain text: a config may hold control characters. */
function firstOf(different: readonly Difference[]): string {
  const texts = different.map((one) => plainText(differenceText(one)))
  const more = texts.length > MAX_NAMED ? [`and ${texts.length - MAX_NAMED} more`] : []
  return [...texts.slice(0, MAX_NAMED), ...more].join(', ')
}

const MAX_NAMED = 4

/** Earlier launches cannot be compared with launches of other code, and repeating them would not help. */
async function requireSameCode(
  kept: readonly Launched[],
  { request, places }: Asked,
  { directory, resultFile }: Workspace,
): Promise<void> {
  for (const variant of VARIANTS) {
    const earlier = kept.findLast(({ launch, outcome }) => launch?.code && outcome.run.variant === variant)
    if (!earlier?.launch?.code) continue
    const now = await hashSources(programOf(request.experiment), places[variant].workingDirectory, directory)
    if (now !== null && hashCode(now) === earlier.launch.code.after) continue
    throw new ResumeError(
      `--resume: the trainer's sources have changed since ${earlier.outcome.run.id} in ${resultFile}; restore them, or start without --resume`,
    )
  }
}

/** It is unknown which launches another experiment disturbed, and the new record would report only the new lock. */
function refuseUnlocked({ preflight }: Watched, file: string): void {
  if (preflight?.lock?.status !== 'lost') return
  throw new ResumeError(
    `--resume: the call that wrote ${file} lost its lock (${plainText(preflight.lock.reason)}), so another experiment may have disturbed it. Start without --resume`,
  )
}

/** A failed launch counts as failed: to run it again until it passes would hide it. */
function refuseFailed(launched: readonly Launched[], workspace: Workspace): void {
  const failed = launched.map(({ outcome }) => outcome).find((outcome) => outcome.status === 'failed')
  if (failed === undefined) return
  const { run, reason } = failed
  // It may quote the training.
  const message = plainText(failed.message)
  if (reason === 'no-metrics' || reason === 'bad-metrics')
    throw new ResumeError(
      `--resume: ${workspace.runFiles(run).directory} has no complete metrics: ${message}. If its training left them so, the launch failed and decides the verdict: start without --resume. If they were damaged since, restore them`,
    )
  throw new ResumeError(
    `--resume: ${workspace.resultFile} has a failed launch, which decides its verdict: ${run.id}, ${reason}: ${message}; start without --resume`,
  )
}

/** As it reads back from a file, where an absent key and an undefined one are the same. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
