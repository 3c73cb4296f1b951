// What the report of a privileged job adds: whose experiment and gates it judged by, or why there is no verdict.
import { markdownTable } from 'markdown-table'
import type { Difference } from '../../config/same-work/differences.ts'
import { escapeCell } from '../escape.ts'
import { settingText } from '../setting.ts'
import type { CommentSection } from './comment.ts'

interface Base {
  readonly branch: string
  readonly commit: string
}

/** The name of the artifact ends with the attempt that measured, which may be an earlier one than reports. */
export function judgedBySection({ branch, commit }: Base, artifact: string): CommentSection {
  return {
    kind: 'link',
    title: 'judged by',
    markdown: `Judged from the raw metrics in ${escapeCell(artifact)}, by the experiment and gates of ${escapeCell(branch)} at ${commit}.`,
  }
}

/**
 * What the record says of its commit, and what no report can see. `merges`: of that head with its base. It is all the
 * record's own claim, which the code of a pull request can write.
 */
export function measuredRevisionSection(
  revision: string | null,
  headSha: string,
  merges: readonly string[],
): CommentSection {
  const warnings = revisionWarnings(revision, headSha, merges)
  const said =
    warnings.length > 0
      ? warnings.map((warning) => `> [!WARNING]\n> ${warning}`).join('\n\n')
      : `The record names ${revision === headSha ? 'the head' : "the head's merge with the base branch"} as the measured commit.`
  return { kind: 'link', title: 'measured commit', markdown: `${said}\n\n${NOT_SEEN}` }
}

const NOT_SEEN = 'Not seen: that the training ran at all, its requirements, the workflow that measured.'

function revisionWarnings(revision: string | null, headSha: string, merges: readonly string[]): string[] {
  if (revision === null)
    return [`The record names no commit, so it is unknown whether ${headSha} was measured.`]
  const commit = revision.replace(/-dirty$/, '')
  const isHead = commit === headSha || merges.includes(commit)
  return [
    ...(isHead
      ? []
      : [
          `The record names ${commit} as the measured commit, which is neither the head ${headSha} nor its present merge with the base branch.`,
        ]),
    ...(commit === revision
      ? []
      : [`The record says that ${commit} was measured with uncommitted changes, which no diff shows.`]),
  ]
}

/** A pull request may change its experiment; it is not judged by it. */
export function changedExperimentSection({ branch }: Base, changes: readonly Difference[]): CommentSection[] {
  if (changes.length === 0) return []
  const rows = changes.map(({ key, baseline, optimized }) =>
    [key, settingText(baseline), settingText(optimized)].map((cell) => escapeCell(cell)),
  )
  const table = markdownTable([
    ['experiment', `${escapeCell(branch)}, which counts`, 'measured with'],
    ...rows,
  ])
  const title = 'what the pull request changes in the experiment'
  return [
    {
      kind: 'details',
      title,
      markdown: `<details><summary>⚠️ The measurement was made with another experiment than that of ${escapeCell(branch)}</summary>\n\n${table}\n\n</details>`,
    },
  ]
}

export function unjudgedSection(
  { key, headSha, runUrl }: { key: string; headSha: string; runUrl: string },
  reason: string,
): CommentSection {
  return {
    kind: 'verdict',
    title: 'no verdict',
    markdown: [
      `## ❌ Speedproof: ${escapeCell(key)} has no verdict`,
      '',
      `**Why:** ${escapeCell(reason, 1000)}`,
      '',
      `[Workflow run](${runUrl}) · for ${headSha}`,
    ].join('\n'),
  }
}
