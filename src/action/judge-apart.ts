// Judges an artifact in a thread of its own, with a bound on memory and time: what ends that thread does not end the report.
import { parentPort, Worker, workerData } from 'node:worker_threads'
import type { Experiment } from '../config/experiment.ts'
import { ConfigError, messageOf, RunError } from '../errors.ts'
import type { VerdictName } from '../judge/verdict.ts'
import { combine } from '../record/combined.ts'
import { renderPage } from '../report/html/page.ts'
import type { ReportedExperiment } from '../report/html/section.ts'
import { type JudgedAgain, judgeArtifact } from './judge-artifact.ts'
import { type MadePage, pageOf } from './page.ts'

/** `pages` ask for one page of several results, and for no verdict. */
type Question =
  | { readonly kind: 'judge'; readonly judge: Judgement }
  | { readonly kind: 'page'; readonly resultFiles: readonly string[] }

interface Judgement {
  /** Null for the recorded one. */
  readonly experiment: Experiment | null
  readonly branch: string
  readonly resultFile: string
}

/** A verdict comes before its page, so that no trouble with the page takes it away. */
type Answer =
  | { readonly kind: 'judged'; readonly judged: JudgedAgain }
  | { readonly kind: 'unreadable'; readonly reason: string }
  | { readonly kind: 'page'; readonly page: MadePage }

/** With the rest of the process less than 1 GB. */
const LIMITS = { maxOldGenerationSizeMb: 560, maxYoungGenerationSizeMb: 48 }
/** The job has 15. */
const LIMIT_MINUTES = 8
const PAGE_LIMIT_MINUTES = 2

/** Throws a RunError for an artifact that cannot be read, or that takes too much. */
export async function judgeApart(judge: Judgement): Promise<JudgedAgain> {
  await using thread = new Thread({ kind: 'judge', judge })
  return await thread.judged()
}

/** The same, with the page of the verdict. */
export async function judgeWithPage(judge: Judgement): Promise<JudgedAgain & { readonly page: MadePage }> {
  await using thread = new Thread({ kind: 'judge', judge })
  return { ...(await thread.judged()), page: await thread.page() }
}

/** Of recorded results, each judged by its own experiment. Never throws. */
export async function makePageApart(resultFiles: readonly string[]): Promise<MadePage> {
  await using thread = new Thread({ kind: 'page', resultFiles })
  return await thread.page()
}

class Thread {
  readonly #worker: Worker
  readonly #judged = Promise.withResolvers<JudgedAgain>()
  readonly #page = Promise.withResolvers<MadePage>()

  constructor(question: Question) {
    // The entry of the action, whatever it is bundled into.
    this.#worker = new Worker(process.argv[1] ?? '', { workerData: question, resourceLimits: LIMITS })
    // Nobody may wait for one of them.
    for (const { promise } of [this.#judged, this.#page]) promise.catch(() => {})
    this.#worker.on('message', (answer: Answer) => this.#take(answer))
    this.#worker.once('error', (error) => this.#fail(isOutOfMemory(error) ? tooLarge() : error))
    this.#worker.once('exit', () =>
      this.#fail(new RunError('the thread that judges the artifact ended without a verdict')),
    )
  }

  async judged(): Promise<JudgedAgain> {
    return await within(LIMIT_MINUTES, this.#judged.promise)
  }

  async page(): Promise<MadePage> {
    try {
      return await within(PAGE_LIMIT_MINUTES, this.#page.promise)
    } catch (error) {
      return { status: 'not-made', reason: messageOf(error) }
    }
  }

  #take(answer: Answer): void {
    if (answer.kind === 'judged') this.#judged.resolve(answer.judged)
    else if (answer.kind === 'page') this.#page.resolve(answer.page)
    else this.#fail(new RunError(answer.reason))
  }

  #fail(error: unknown): void {
    this.#judged.reject(error)
    this.#page.reject(error)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate()
  }
}

async function within<T>(minutes: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const limit = setTimeout(
    () => reject(new RunError(`the artifact takes more than ${minutes} minutes to judge`)),
    minutes * 60_000,
  )
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(limit)
  }
}

/** In the thread itself. */
export async function answerApart(): Promise<void> {
  const question: Question = workerData
  const tell = (answer: Answer) => parentPort?.postMessage(answer)
  if (question.kind === 'page') {
    tell({ kind: 'page', page: await pageOf(() => pageOfRecorded(question.resultFiles)) })
    return
  }
  const { experiment, branch, resultFile } = question.judge
  try {
    const { reported, ...judged } = await judgeArtifact(experiment, branch, resultFile)
    tell({ kind: 'judged', judged })
    tell({ kind: 'page', page: await pageOf(async () => pageOfAll([reported(1)])) })
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof RunError)) throw error
    tell({ kind: 'unreadable', reason: messageOf(error) })
  }
}

function pageOfAll(reported: readonly ReportedExperiment[]): { text: string; verdict: VerdictName } {
  const combined = combine(reported.map(({ result }) => result))
  return { text: renderPage(combined, reported), verdict: combined.verdict }
}

async function pageOfRecorded(resultFiles: readonly string[]) {
  const all: ReportedExperiment[] = []
  for (const file of resultFiles) {
    const { reported } = await judgeArtifact(null, '', file)
    all.push(reported(resultFiles.length))
  }
  return pageOfAll(all)
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

function tooLarge(): RunError {
  return new RunError(
    `the artifact takes more than ${LIMITS.maxOldGenerationSizeMb} MB of memory to judge. Measure shorter trainings, or fewer blocks`,
  )
}
