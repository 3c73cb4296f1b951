// Fetches the artifact that a run has uploaded, as bytes that somebody else has chosen.
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { RunError } from '../../../errors.ts'
import type { GitHub, Repository } from '../client.ts'

/** More than a measuring job uploads, by what a packed file takes besides its bytes. */
export const MAX_ARCHIVE_BYTES = 512 * 1024 ** 2

export interface WantedArtifact extends Repository {
  readonly runId: number
  /** Acceptable names, the best first. */
  readonly names: readonly string[]
  /** Milliseconds since 1970: what was uploaded earlier is of a job that was begun again since. */
  readonly since: number
}

export interface FoundArtifact {
  readonly id: number
  readonly name: string
  readonly url: string
}

/** Throws a RunError when the run has none, or one that is gone or too large. */
export async function findArtifact(github: GitHub, wanted: WantedArtifact): Promise<FoundArtifact> {
  const { owner, repo, runId, names, since } = wanted
  const artifacts = await github.paginate(github.rest.actions.listWorkflowRunArtifacts, {
    owner,
    repo,
    run_id: runId,
    per_page: 100,
  })
  const [first = ''] = names
  const isNew = (created: string | null) => created !== null && Date.parse(created) >= since
  const named = names.flatMap((name) => artifacts.filter((one) => one.name === name))
  const found = named.find(({ created_at: created }) => isNew(created))
  if (!found) {
    const earlier = named.length === 0 ? '' : ' after it began to measure again'
    throw new RunError(
      `artifact "${first}": run ${runId} did not upload it${earlier}; see the log of that run`,
    )
  }
  if (found.expired) throw new RunError(`artifact "${found.name}": it has expired; re-run the measurement`)
  if (found.size_in_bytes > MAX_ARCHIVE_BYTES) throw tooLarge(found.name)
  const server = process.env.GITHUB_SERVER_URL ?? 'https://github.com'
  const url = `${server}/${owner}/${repo}/actions/runs/${runId}/artifacts/${found.id}`
  return { id: found.id, name: found.name, url }
}

/** The size that was announced is not believed. */
export async function downloadArtifact(
  github: GitHub,
  { owner, repo }: Repository,
  { id, name }: FoundArtifact,
  file: string,
): Promise<void> {
  const answer = await github.request(
    'GET /repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}',
    { owner, repo, artifact_id: id, archive_format: 'zip', request: { parseSuccessResponseBody: false } },
  )
  const body: unknown = answer.data
  if (!(body instanceof ReadableStream)) throw new RunError(`artifact "${name}": GitHub sent no file`)
  let bytes = 0
  await pipeline(
    Readable.fromWeb(body),
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        bytes += chunk.length
        if (bytes > MAX_ARCHIVE_BYTES) throw tooLarge(name)
        yield chunk
      }
    },
    createWriteStream(file),
  )
}

function tooLarge(name: string): RunError {
  return new RunError(
    `artifact "${name}": it is larger than the ${MAX_ARCHIVE_BYTES} bytes that a report reads`,
  )
}
