// What a report says on GitHub alone: links, a stale head, an acceptance or how to give one.
import type { Acceptance } from '../../judge/acceptance.ts'
import { type Combined, isCombinedAcceptable, missedGates } from '../../record/combined.ts'
import { escapeCell } from '../escape.ts'
import { acceptCommand } from './acceptance.ts'
import type { CommentSection } from './comment.ts'

interface Measured {
  readonly key: string
  readonly headSha: string
  readonly runId: number
  readonly runAttempt: number
  readonly runUrl: string
  readonly pull: { readonly headSha: string } | null
}

/** Where the HTML report is, or why there is none. */
export type PageLink =
  | { readonly status: 'uploaded'; readonly url: string }
  | { readonly status: 'not-made' | 'not-uploaded'; readonly reason: string }

export interface Links {
  readonly artifactUrl: string | null
  /** Null where none was asked for. */
  readonly page: PageLink | null
}

export function linkSection({ runUrl, headSha }: Measured, { artifactUrl, page }: Links): CommentSection {
  const report = page?.status === 'uploaded' ? `[HTML report with charts](${page.url}) · ` : ''
  const artifact = artifactUrl === null ? '' : ` · [artifact](${artifactUrl})`
  const missing =
    page?.status === 'not-made' ? `\n\nThere is no HTML report: ${escapeCell(page.reason)}.` : ''
  return {
    kind: 'link',
    title: 'links',
    markdown: `${report}[Workflow run](${runUrl})${artifact} · measured at ${headSha}${missing}`,
  }
}

export function staleSection({ headSha, pull }: Measured): CommentSection[] {
  if (pull === null || pull.headSha === headSha) return []
  const markdown = `> [!WARNING]\n> These results are for ${headSha}; the head of the pull request is ${pull.headSha}.`
  return [{ kind: 'link', title: 'stale head', markdown }]
}

/** The acceptance, or, where there could be one, the line that makes it. */
export function acceptanceSection(
  measured: Measured,
  combined: Combined,
  acceptance: Acceptance | null,
): CommentSection[] {
  const { pull, headSha } = measured
  if (pull === null || !isCombinedAcceptable(combined)) return []
  const title = 'acceptance'
  if (acceptance === null) {
    const command = acceptCommand({ ...measured, gates: missedGates(combined) })
    const how = `Somebody with write access may accept this measurement, with a reason, by the comment \`${command}\``
    return [
      {
        kind: 'details',
        title,
        markdown: `<details><summary>How a maintainer accepts this verdict</summary>\n\n${how}\n\n</details>`,
      },
    ]
  }
  const by = `[${escapeCell(acceptance.login)}](${acceptance.url})`
  const markdown = `> [!IMPORTANT]\n> Accepted by ${by} for ${headSha}: ${escapeCell(acceptance.reason, 600)}`
  return [{ kind: 'link', title, markdown }]
}
