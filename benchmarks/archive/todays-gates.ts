// What a record is worth by the gates that its experiment file has today: those that it was judged by may have been blind.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { assess } from '../../src/assess.ts'
import type { Experiment } from '../../src/config/experiment.ts'
import { readRecorded, withGates } from '../../src/io/load/read-recorded.ts'
import type { Result } from '../../src/record/result.ts'
import { statusText } from '../../src/text/wording.ts'
import { ROOT } from './layout.ts'

export interface TodaysVerdict {
  readonly verdict: string
  /** By the name of each gate. */
  readonly gates: Readonly<Record<string, string>>
  /** Metrics that no run of the record has, since its trainer did not report them yet. */
  readonly lacks: readonly string[]
  /** By the gates of what the record has. */
  readonly verdictWithoutThose: string
}

/** Null for an A/A, which judges no gate, and where no experiment file of this name has gates. */
export async function byTodaysGates(resultFile: string, folder = EXPERIMENTS): Promise<TodaysVerdict | null> {
  const { request } = await readRecorded(resultFile, (recorded) => recorded)
  const file = join(folder, `${request.experiment.name}.yaml`)
  if (request.experiment.mode === 'aa' || !existsSync(file)) return null
  const today = await withGates(request.experiment, file, {})
  const result = await judged(resultFile, today)
  const { verdict } = result
  const lacking = verdict.gates.filter(
    ({ gate, status }) =>
      status === 'not-measured' && result.runs.every(({ metrics }) => metrics[gate.metric] === undefined),
  )
  const names = new Set(lacking.map(({ gate }) => gate.name))
  const others = Object.entries(today.gates).filter(([name]) => !names.has(name))
  const isAll = names.size === 0 || others.length === 0
  const rest = isAll ? result : await judged(resultFile, { ...today, gates: Object.fromEntries(others) })
  return {
    verdict: verdict.verdict,
    gates: Object.fromEntries(verdict.gates.map(({ gate, status }) => [gate.name, statusText(status)])),
    lacks: [...new Set(lacking.map(({ gate }) => gate.metric))],
    verdictWithoutThose: rest.verdict.verdict,
  }
}

const EXPERIMENTS = join(ROOT, 'configs', 'experiments')

async function judged(resultFile: string, experiment: Experiment): Promise<Result> {
  const { request, launched, watched, reevaluation } = await readRecorded(resultFile, () => experiment)
  return assess(request, launched, watched, reevaluation)
}
