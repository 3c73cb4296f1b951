// The commands that repeat an experiment on a workstation, and its verdict without any GPU.
import { flagsOf, type Overrides } from '../../config/overrides/overrides.ts'
import { MERGE_BASE } from '../../config/revisions/revision-rules.ts'
import type { Sources } from '../../config/revisions/sources.ts'
import { DEFAULT_OUT, type Request } from '../../record/result.ts'
import { shellQuote } from '../../text/shell-quote.ts'
import { oneLine } from '../escape.ts'
import { folded, type Section } from '../section.ts'

export const reproduceSection: Section = (result) => ({
  kind: 'link',
  title: 'reproduce',
  markdown: folded('Commands that repeat it', codeBlock('sh', reproduceCommand(result))),
})

export function reproduceCommand(request: Request): string {
  const { experimentFile, overrides, revision, untracked, sources, environment, outDirectory } = request
  const out = outDirectory === DEFAULT_OUT ? [] : ['--out', outDirectory]
  // Not npx: outside of our clone it would fetch what anybody has published under the name.
  const run = ['run', experimentFile, ...out, ...flagsOf({ ...overrides, ...baseOf(sources) })]
  return [
    ...checkout(revision),
    ...(untracked.length === 0 ? [] : [oneLine(`# not in git: ${untracked.join(', ')}`)]),
    ...(Object.keys(environment).length === 0
      ? []
      : [oneLine(`# environment: ${settingsText(environment)}`)]),
    // In one line each: a file name with a line end must not show a command of its own.
    oneLine(['speedproof', ...run].map(shellQuote).join(' ')),
    oneLine(
      `speedproof analyze ${shellQuote(`${outDirectory}/result.json`)} # the verdict again, from the recorded metrics`,
    ),
  ].join('\n')
}

function settingsText(environment: Request['environment']): string {
  return Object.entries(environment)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
}

/** The merge base with a merge base is itself, wherever its branch has moved to. */
function baseOf(sources: Sources): Overrides {
  const found = Object.values(sources).find(({ ref }) => ref === MERGE_BASE)
  return typeof found?.revision === 'string' ? { base: found.revision } : {}
}

function checkout(revision: string | null): string[] {
  if (revision === null) return []
  const commit = revision.replace('-dirty', '')
  return [`git checkout ${commit}${commit === revision ? '' : '   # it had uncommitted changes'}`]
}

/** The fence is longer than any run of backticks inside, so that no text can close it. */
function codeBlock(language: string, text: string): string {
  const longest = [...text.matchAll(/`+/g)].reduce((most, [run]) => Math.max(most, run.length), 2)
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text}\n${fence}`
}
