// The commands that repeat an experiment on a workstation, and its verdict without any GPU.
import { flagsOf, type Overrides } from '../config/overrides.ts'
import { MERGE_BASE } from '../config/revision-rules.ts'
import type { Sources } from '../config/sources.ts'
import type { Request } from '../record/result.ts'
import { shellQuote } from '../text/shell-quote.ts'

export function reproduceCommand({ experimentFile, overrides, revision, sources }: Request): string {
  // Not npx: outside of our clone it would fetch what anybody has published under the name.
  const run = ['speedproof', 'run', experimentFile, ...flagsOf({ ...overrides, ...baseOf(sources) })]
  return [
    ...checkout(revision),
    run.map(shellQuote).join(' '),
    'speedproof analyze out/result.json   # the verdict again, from the recorded metrics',
  ].join('\n')
}

/** The merge base with a merge base is itself, wherever its branch has moved to. */
function baseOf(sources: Sources | null): Overrides {
  const found = Object.values(sources ?? {}).find(({ ref }) => ref === MERGE_BASE)
  return typeof found?.revision === 'string' ? { base: found.revision } : {}
}

function checkout(revision: string | null): string[] {
  if (revision === null) return []
  const commit = revision.replace('-dirty', '')
  return [`git checkout ${commit}${commit === revision ? '' : '   # it had uncommitted changes'}`]
}
