// Refs, and the merge base, as commits; whatever cannot be found is an error with its remedy.
import { MERGE_BASE } from '../../config/revision-rules.ts'
import { ConfigError } from '../../errors.ts'
import { readWorkflowRun } from '../github/event.ts'
import { git, type Repository } from './git.ts'

/** `key` names where the ref stands, for messages; `base` is what --base or the input names. */
export async function commitOf(
  ref: string,
  key: string,
  base: string | undefined,
  repository: Repository,
): Promise<string> {
  return ref === MERGE_BASE
    ? await mergeBase(key, base, repository)
    : await resolveRef(ref, `${key}: got "${ref}"`, repository)
}

async function mergeBase(key: string, base: string | undefined, repository: Repository): Promise<string> {
  await refuseShallow(key, repository)
  const from =
    base === undefined
      ? await baseOfEvent(key, repository)
      : await resolveRef(base, `base: got "${base}"`, repository)
  const found = await git(repository, 'merge-base', 'HEAD', from)
  if (found.status === 'done') return found.text
  throw new ConfigError(
    `${key}: the checked-out commit and ${from} have no commit in common; name the branch that this one started from with --base or the input base`,
  )
}

/** Of a cut-off history, git would call any commit the merge base that it happens to have. */
async function refuseShallow(key: string, repository: Repository): Promise<void> {
  const shallow = await git(repository, 'rev-parse', '--is-shallow-repository')
  if (shallow.status === 'refused') {
    throw new ConfigError(`${key}: got "${MERGE_BASE}", but git finds no repository here: ${shallow.why}`)
  }
  if (shallow.text !== 'true') return
  throw new ConfigError(
    `${key}: got "${MERGE_BASE}", but this clone is shallow, so its history does not reach that commit; check out with fetch-depth: 0, or run git fetch --unshallow`,
  )
}

/** What a pull request is to be merged into, as of the commit that is checked out. */
async function baseOfEvent(key: string, repository: Repository): Promise<string> {
  const reading = readWorkflowRun()
  const run = reading.status === 'not-in-a-workflow' ? null : reading.run
  if (run === null || run.baseSha === null) {
    throw new ConfigError(
      `${key}: got "${MERGE_BASE}", but of what? This is no run for a pull request, so name the branch that this one started from: --base main, or the input base`,
    )
  }
  // A trial merge holds what the base branch has gained since the event; its first parent is the base that it really has.
  const parents = await git(repository, 'rev-list', '--parents', '--max-count=1', 'HEAD')
  const [, first, second] = parents.status === 'done' ? parents.text.split(' ') : []
  if (first !== undefined && second === run.headSha) return first
  return await resolveRef(run.baseSha, `${key}: the pull request's base is ${run.baseSha}`, repository)
}

/** A checkout on a runner has branches of the remote only. */
async function resolveRef(ref: string, subject: string, repository: Repository): Promise<string> {
  for (const candidate of [ref, `refs/remotes/origin/${ref}`]) {
    const words = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${candidate}^{commit}`]
    const found = await git(repository, ...words)
    if (found.status === 'done' && /^[0-9a-f]{40,64}$/.test(found.text)) return found.text
  }
  throw new ConfigError(
    `${subject}, which is no commit in this clone; check its spelling, fetch it, or check out with fetch-depth: 0`,
  )
}
