// The held-out numbers of final checkpoints, evaluated once more after the trainings by one process.
import { z } from 'zod'
import { explain } from '../config/parse/explain.ts'
import { HELD_OUT_LOSS } from '../metrics/catalogue.ts'
import { evaluationMetric } from '../metrics/families.ts'
import { TRAINER_FOLDER } from '../plan/torchrun.ts'
import { finiteNumber } from '../read/events.ts'
import { parseJsonLine, withoutByteOrderMark } from '../read/json-line.ts'
import { duration } from '../text/numbers.ts'
import { errorText, exitText, type LaunchRecord, saidText } from './outcome.ts'
import type { RunSummary } from './summary.ts'

/** A line of what the trainer's evaluate command writes. */
const reevaluationLine = z.object({
  run: z.string().describe('The folder, as it was given with --run.'),
  val_loss: finiteNumber,
  metrics: z.record(z.string(), finiteNumber).optional(),
})

export interface Reevaluation {
  /** Kept in result.json; null if there was none, or the experiment ended with it. */
  readonly launch: LaunchRecord | null
  /** By run id; metrics as gates name them. */
  readonly numbers: ReadonlyMap<string, RunSummary['metrics']>
  /** Why numbers are missing; null for a process that ended well. */
  readonly problem: string | null
  /** Lines that give the numbers of a run a second time, so it is unclear which ones count. */
  readonly doubled: readonly string[]
}

export const NOT_REEVALUATED: Reevaluation = {
  launch: null,
  numbers: new Map(),
  problem: 'the experiment ended before the evaluation',
  doubled: [],
}

/**
 * What a process that failed has written before counts, also where the experiment ended with it, so that there
 * is no record of it; an invalid line ends the reading. `lines`: of the file, blank ones too.
 */
export function readReevaluation(launch: LaunchRecord | null, lines: readonly string[]): Reevaluation {
  const numbers = new Map<string, RunSummary['metrics']>()
  const lineOf = new Map<string, number>()
  const doubled: string[] = []
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    const parsed = parseLine(index === 0 ? withoutByteOrderMark(line) : line)
    if (typeof parsed === 'string') {
      const problem = problemOf(launch) ?? `evaluations.jsonl line ${index + 1}: ${parsed}`
      return { launch, numbers, problem, doubled }
    }
    const run = runIdOf(parsed.run)
    const earlier = lineOf.get(run)
    if (earlier !== undefined) {
      doubled.push(
        `evaluations.jsonl: lines ${earlier} and ${index + 1} are both of ${run}. Write one line for each run`,
      )
      continue
    }
    lineOf.set(run, index + 1)
    const others = Object.entries(parsed.metrics ?? {}).map(([name, value]) => [
      evaluationMetric(name),
      value,
    ])
    numbers.set(run, { [HELD_OUT_LOSS]: parsed.val_loss, ...Object.fromEntries(others) })
  }
  return { launch, numbers, problem: problemOf(launch), doubled }
}

/** Of .../<run id>/trainer; any other folder stays as it is, and is the folder of no run. */
function runIdOf(folder: string): string {
  const [id, trainer] = folder.split('/').slice(-2)
  return id !== undefined && trainer === TRAINER_FOLDER ? id : folder
}

const ONE_EACH = 'write one JSON object a line, one for each run'

const LINES = {
  missing: 'expected the numbers that the run reported at its end',
  remedy: ONE_EACH,
  cause: 'cut off?',
}

/** A text says what is wrong with the line. */
function parseLine(line: string): z.infer<typeof reevaluationLine> | string {
  const read = parseJsonLine(line, LINES)
  if (read.status === 'truncated') return `${read.reason}; ${ONE_EACH}`
  if (read.status !== 'parsed') return read.reason
  const parsed = reevaluationLine.safeParse(read.json)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  return `${issue ? explain(issue, read.json, 'the line') : 'does not follow the contract'}; ${ONE_EACH}`
}

function problemOf(launch: LaunchRecord | null): string | null {
  if (launch === null) return NOT_REEVALUATED.problem
  const { result, errors } = launch
  const [error] = errors
  const log = 'evaluation/log.txt'
  const because = error === undefined ? '' : `: ${errorText(error, log)}`
  switch (result.status) {
    case 'exited':
      if (result.exitCode === 0) return null
      return error === undefined
        ? exitText(launch, result.exitCode, log)
        : `exit code ${result.exitCode}${because}`
    case 'signalled':
      return `ended by ${result.signal}${because || saidText(launch, log)}`
    case 'timed-out':
      return `still running at its limit of ${duration(result.wallSeconds)}. Raise launch.timeout_minutes. On a command line, --resume --timeout-minutes keeps all launches`
    case 'cancelled':
      return 'cancelled'
    case 'not-started':
      return result.message
  }
}
