// The commands that repeat an experiment on a workstation, and its verdict without any GPU.
import { flagsOf } from '../config/overrides.ts'
import type { Request } from './result.ts'

export function reproduceCommand({ experimentFile, overrides, revision }: Request): string {
  const run = ['npx', 'speedproof', 'run', experimentFile, ...flagsOf(overrides)]
  return [
    ...checkout(revision),
    run.map(shellQuote).join(' '),
    'npx speedproof analyze out/result.json   # the verdict again, from the recorded metrics',
  ].join('\n')
}

function checkout(revision: string | null): string[] {
  if (revision === null) return []
  const commit = revision.replace('-dirty', '')
  return [`git checkout ${commit}${commit === revision ? '' : '   # it had uncommitted changes'}`]
}

/** For a POSIX shell. */
export function shellQuote(text: string): string {
  return /^[\w./:=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
