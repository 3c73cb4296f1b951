// The artifact service of our own: creates, takes the blocks of a zip, finalizes, and keeps it for a look inside.
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type Answer, type Request, startLocalServer } from './local-server.ts'
import { unzip } from './zip.ts'

export interface FakeArtifacts extends AsyncDisposable {
  /** What the runner gives to a step. */
  environment: { ACTIONS_RESULTS_URL: string; ACTIONS_RUNTIME_TOKEN: string }
  /** Finalized artifacts: contents by path, by name. */
  uploaded: Record<string, Record<string, Buffer>>
  /** All further calls of this step of an upload end like this. */
  fail(step: 'CreateArtifact' | 'PutBlob' | 'FinalizeArtifact', answer: Answer): void
}

const RUN_ID = 'c0ffee00-0000-4000-8000-000000000001'
const JOB_ID = 'c0ffee00-0000-4000-8000-000000000002'
const SERVICE = '/twirp/github.actions.results.api.v1.ArtifactService/'

const ids = { workflow_run_backend_id: z.literal(RUN_ID), workflow_job_run_backend_id: z.literal(JOB_ID) }
const createRequest = z.strictObject({
  ...ids,
  name: z.string().min(1),
  version: z.literal(7),
  mime_type: z.string(),
  expires_at: z.iso.datetime().optional(),
})
const finalizeRequest = z.strictObject({ ...ids, name: z.string(), size: z.string(), hash: z.string() })

export async function startFakeArtifacts(): Promise<FakeArtifacts> {
  const uploaded: FakeArtifacts['uploaded'] = {}
  const failures = new Map<string, Answer>()
  const blocks = new Map<string, Buffer>()
  const archives = new Map<string, Buffer>()
  const token = runtimeToken()
  const problems: string[] = []

  const server = await startLocalServer((request) => {
    const step = request.method === 'PUT' ? 'PutBlob' : request.url.pathname.replace(SERVICE, '')
    const failure = failures.get(step)
    if (failure) return failure
    if (step === 'PutBlob') return putBlob(request)
    // The upload address has its own signature; the service itself wants the token of the job.
    if (request.headers.authorization !== `Bearer ${token}`) return { kind: 'answer', status: 401, body: {} }
    try {
      if (step === 'CreateArtifact') return create(request)
      if (step === 'FinalizeArtifact') return finalize(request)
      throw new Error(`${request.method} ${request.url.pathname} is not a call of an upload`)
    } catch (error) {
      problems.push(String(error))
      return { kind: 'answer', status: 400, body: { code: 'invalid_argument', msg: String(error) } }
    }
  })

  function create(request: Request): Answer {
    const { name } = createRequest.parse(JSON.parse(request.body.toString()))
    if (name in uploaded) {
      const msg = 'an artifact with this name already exists on the workflow run'
      return { kind: 'answer', status: 409, body: { code: 'already_exists', msg } }
    }
    const signed_upload_url = `${server.url}/container/${encodeURIComponent(name)}?sig=signature-of-the-blob`
    return { kind: 'answer', status: 200, body: { ok: true, signed_upload_url } }
  }

  function finalize(request: Request): Answer {
    const { name, size, hash } = finalizeRequest.parse(JSON.parse(request.body.toString()))
    const archive = archives.get(name) ?? Buffer.alloc(0)
    const sha256 = `sha256:${createHash('sha256').update(archive).digest('hex')}`
    if (Number(size) !== archive.length || hash !== sha256)
      throw new Error('size or hash is not that of the blob')
    // A page is uploaded as it is, under its own name.
    uploaded[name] = name.endsWith('.html') ? { [name]: archive } : unzip(archive)
    return { kind: 'answer', status: 200, body: { ok: true, artifact_id: '42' } }
  }

  /** Azure's block blobs: blocks in any order, then the list that puts them in order. */
  function putBlob({ url, body }: Request): Answer {
    const name = decodeURIComponent(url.pathname.replace('/container/', ''))
    const block = url.searchParams.get('blockid')
    if (url.searchParams.get('comp') === 'blocklist') {
      const order = body.toString().matchAll(/<Latest>([^<]+)<\/Latest>/g)
      archives.set(
        name,
        Buffer.concat(Array.from(order, ([, id]) => blocks.get(`${name}/${id}`) ?? Buffer.alloc(0))),
      )
    } else if (block !== null) {
      blocks.set(`${name}/${block}`, body)
    } else {
      archives.set(name, body)
    }
    return { kind: 'answer', status: 201, body: undefined }
  }

  return {
    environment: { ACTIONS_RESULTS_URL: `${server.url}/`, ACTIONS_RUNTIME_TOKEN: token },
    uploaded,
    fail: (step, answer) => failures.set(step, answer),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      if (problems.length > 0) throw new Error(problems.join('\n'))
    },
  }
}

/** Unsigned: the client only reads the scopes. */
function runtimeToken(): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const scp = `Actions.ExampleScope Actions.Results:${RUN_ID}:${JOB_ID}`
  return `${encode({ alg: 'none' })}.${encode({ scp })}.none`
}
