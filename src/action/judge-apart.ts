// Judges an artifact in a thread of its own, with a bound on memory and time: what ends that thread does not end the report.
import { parentPort, Worker, workerData } from 'node:worker_threads'
import type { Experiment } from '../config/experiment.ts'
import { ConfigError, messageOf, RunError } from '../errors.ts'
import { type JudgedAgain, judgeArtifact } from './judge-artifact.ts'

interface Question {
  /** Null for the recorded one. */
  readonly experiment: Experiment | null
  readonly branch: string
  readonly resultFile: string
}

type Answer =
  | { readonly status: 'judged'; readonly judged: JudgedAgain }
  | { readonly status: 'unreadable'; readonly reason: string }

/** With the rest of the process less than 1 GB. */
const LIMITS = { maxOldGenerationSizeMb: 560, maxYoungGenerationSizeMb: 48 }
/** The job has 15. */
const LIMIT_MINUTES = 8

/** Throws a RunError for an artifact that cannot be read, or that takes too much. */
export async function judgeApart(question: Question): Promise<JudgedAgain> {
  // The entry of the action, whatever it is bundled into.
  const worker = new Worker(process.argv[1] ?? '', { workerData: question, resourceLimits: LIMITS })
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const tooLong = new RunError(`the artifact takes more than ${LIMIT_MINUTES} minutes to judge`)
  const limit = setTimeout(() => reject(tooLong), LIMIT_MINUTES * 60_000)
  worker.once('message', resolve)
  worker.once('error', (error) => reject(isOutOfMemory(error) ? tooLarge() : error))
  worker.once('exit', () =>
    reject(new RunError('the thread that judges the artifact ended without a verdict')),
  )
  try {
    const answer = await promise
    if (answer.status === 'judged') return answer.judged
    throw new RunError(answer.reason)
  } finally {
    clearTimeout(limit)
    await worker.terminate()
  }
}

/** In the thread itself. */
export async function answerApart(): Promise<void> {
  const { experiment, branch, resultFile }: Question = workerData
  parentPort?.postMessage(await answerTo(experiment, branch, resultFile))
}

async function answerTo(experiment: Experiment | null, branch: string, resultFile: string): Promise<Answer> {
  try {
    return { status: 'judged', judged: await judgeArtifact(experiment, branch, resultFile) }
  } catch (error) {
    if (error instanceof ConfigError || error instanceof RunError)
      return { status: 'unreadable', reason: messageOf(error) }
    throw error
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

function tooLarge(): RunError {
  return new RunError(
    `the artifact takes more than ${LIMITS.maxOldGenerationSizeMb} MB of memory to judge. Measure shorter trainings, or fewer blocks`,
  )
}
