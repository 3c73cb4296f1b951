// Refs, and the merge base, as commits; whatever cannot be found is an error with its remedy.
import { MERGE_BASE } from '../../config/revisions/revision-rules.ts'
import { ConfigError } from '../../errors.ts'
import { readWorkflowRun } from '../github/event/event.ts'
import { git, type Repository, refusalOfCheckout } from './git.ts'

/** `key` names where the ref stands, for messages; `base` is what --base or the input names. */
export async function commitOf(
  ref: string,
  key: string,
  base: string | undefined,
  repository: Repository,
): Promise<string> {
  const subject = `${key}: got "${ref}"`
  const isShallow = await isShallowClone(subject, repository)
  if (ref !== MERGE_BASE) return await resolveRef(ref, subject, repository)
  if (isShallow) refuseShallow(subject)
  return await mergeBase(key, base, repository)
}

async function mergeBase(key: string, base: string | undefined, repository: Repository): Promise<string> {
  const from =
    base === undefined
      ? await baseOfEvent(key, repository)
      : await resolveRef(base, `base: got "${base}"`, repository)
  const found = await git(repository, 'merge-base', 'HEAD', from)
  if (found.status === 'done') return found.text
  throw new ConfigError(
    `${key}: the checked-out commit and ${from} have no commit in common. Name the branch that this one started from with --base or the input base`,
  )
}

/** Throws a ConfigError where git has no repository, since there every ref would be a missing one. */
async function isShallowClone(subject: string, repository: Repository): Promise<boolean> {
  const shallow = await git(repository, 'rev-parse', '--is-shallow-repository')
  if (shallow.status === 'done') return shallow.text === 'true'
  const { workingDirectory } = repository
  const version = await git(repository, '--version')
  if (version.status === 'refused')
    throw new ConfigError(
      `${subject}, but git cannot be started (${version.why}). Install git; on a runner, before the checkout step, which makes no clone without it`,
    )
  const refusal = await refusalOfCheckout(repository)
  if (refusal !== null) throw new ConfigError(`${subject}, but ${refusal}`)
  throw new ConfigError(
    `${subject}, but ${workingDirectory} is not in a git repository, so it has no other revision. Start in a clone of your training's repository. Or make one here: run git init, then commit the code to compare with before you change it`,
  )
}

/** Of a cut-off history, git would call any commit the merge base that it happens to have. */
function refuseShallow(subject: string): never {
  throw new ConfigError(
    `${subject}, but this clone is shallow, so its history does not reach that commit. Check out with fetch-depth: 0, or run git fetch --unshallow`,
  )
}

/** What a pull request is to be merged into, as of the commit that is checked out. */
async function baseOfEvent(key: string, repository: Repository): Promise<string> {
  const reading = readWorkflowRun()
  const run = reading.status === 'not-in-a-workflow' ? null : reading.run
  if (run === null || run.baseSha === null) {
    throw new ConfigError(
      `${key}: got "${MERGE_BASE}", but this run is not for a pull request, so its base is unknown. Name the branch that this one started from: --base main, or the input base`,
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
    `${subject}, which is not a commit in this clone. Check its spelling, fetch it, or check out with fetch-depth: 0`,
  )
}
