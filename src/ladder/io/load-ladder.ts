// Loads the experiment of a ladder, with what it takes to resolve its trainings.
import type { Settings } from '../../config/parse/mapping.ts'
import { ConfigError } from '../../errors.ts'
import { loadAll } from '../../io/load/load-all.ts'
import type { Loaded } from '../../io/load/load-experiment.ts'
import type { LadderJob, LadderStage } from './job.ts'
import { type LadderResolver, ladderResolver, type ResolvedLadder } from './resolve-ladder.ts'

/** A ladder that can be launched, until it is disposed of. */
export interface LoadedLadder extends AsyncDisposable {
  readonly question: Loaded
  /** Set in every launch: by the file, then by flags. */
  readonly settings: Settings
  readonly resolveAfter: LadderResolver
}

/** Throws a ConfigError for an experiment that cannot be run, and for a rung that is unknown or that the trainer refuses. */
export async function loadLadder(job: LadderJob, { cancelled, note }: LadderStage): Promise<LoadedLadder> {
  await using taking = new AsyncDisposableStack()
  const { loaded } = taking.use(await loadAll({ ...job, cancelled, note, onWorktree: () => {} }))
  const [question] = loaded
  if (question === undefined) throw new Error('the experiment was loaded, and is not there')
  const { experiment } = question.request
  const settings = { ...experiment.ladder?.set, ...job.settings }
  const numberTexts = new Map([...question.numberTexts, ...job.numberTexts])
  const resolveAfter = ladderResolver(experiment, settings, question.places, numberTexts, cancelled)
  refuseUnknownRungs(job.rungNames ?? [], await resolveAfter([]))
  const taken = taking.move()
  return { question, settings, resolveAfter, [Symbol.asyncDispose]: () => taken.disposeAsync() }
}

function refuseUnknownRungs(names: readonly string[], { rungs }: ResolvedLadder): void {
  const known = rungs.map(({ name }) => name)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new ConfigError(`--rungs: got "${unknown}", expected one or more of ${known.join(', ')}`)
}
