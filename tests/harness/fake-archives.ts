// The artifacts of workflow runs as REST lists them and gives them out.
import { type Answer, type Request, refuse } from './local-server.ts'
import type { Operation } from './openapi.ts'
import { listPage } from './pages.ts'

export interface FakeArchive {
  name: string
  runId: number
  bytes: Buffer
  expired?: boolean
  /** Of the upload; after the first attempt of the measuring job has begun, unless it is given. */
  createdAt?: string
  /** What GitHub says, where that is not the truth. */
  announcedBytes?: number
}

export const ARCHIVE_PATH = '/archives/'

export function answerArchives(
  archives: readonly FakeArchive[],
  { id: operation, parameters }: Operation,
  request: Request,
): Answer {
  if (operation === 'actions/list-workflow-run-artifacts') {
    const listed = [...archives.entries()].filter(([, { runId }]) => runId === Number(parameters.run_id))
    return listPage(listed, request.url, toJson, (artifacts, total_count) => ({ total_count, artifacts }))
  }
  const archive = archives[Number(parameters.artifact_id)]
  if (!archive) return refuse(404, 'Not Found')
  // Another host, as GitHub's storage is one.
  const location = `http://localhost:${request.url.port}${ARCHIVE_PATH}${parameters.artifact_id}`
  return { kind: 'answer', status: 302, headers: { location }, body: undefined }

  function toJson([id, archive]: [number, FakeArchive]) {
    const address = `${request.url.origin}/repos/octo-lab/solver/actions/artifacts/${id}`
    const date = '2026-11-20T10:00:00Z'
    return {
      id,
      node_id: `A_${id}`,
      name: archive.name,
      size_in_bytes: archive.announcedBytes ?? archive.bytes.length,
      url: address,
      archive_download_url: `${address}/zip`,
      expired: archive.expired ?? false,
      created_at: archive.createdAt ?? date,
      expires_at: date,
      updated_at: date,
    }
  }
}

/** The address has its own signature: GitHub's token must not reach the storage. */
export function giveArchive(archives: readonly FakeArchive[], { url, headers }: Request): Answer {
  if (headers.authorization !== undefined) return refuse(400, 'a token where none belongs')
  const archive = archives[Number(url.pathname.slice(ARCHIVE_PATH.length))]
  return archive ? { kind: 'bytes', bytes: archive.bytes } : refuse(404, 'Not Found')
}
