// One call of a dstack server's REST interface: what is sent, how long it may take, and what its refusal means.
import type { z } from 'zod'
import { ConfigError, messageOf, RunError } from '../../errors.ts'
import { type Patience, type RetryAdvice, withRetry } from '../github/retry.ts'
import { plainText } from '../system/sanitize.ts'
import { errorAnswer } from './answers.ts'

/** The user's own server, which outlives a workflow run. */
export interface ServerPlace {
  readonly url: string
  /** Never printed. */
  readonly token: string
  readonly project: string
  /** Null takes one that outlasts a restart of the server. */
  readonly patience: Patience | null
}

/** A server that is being restarted is back within one and a half minutes. */
const PATIENCE: Patience = { attempts: 7, firstDelayMs: 1500, totalMs: 120_000 }
const ONCE = 1

export class RefusedError extends RunError {
  readonly status: number
  readonly codes: readonly string[]

  constructor(message: string, status: number, codes: readonly string[]) {
    super(message)
    this.status = status
    this.codes = codes
  }
}

/** `isRepeatable`: a call that changes nothing, or that changes nothing more when it comes twice. */
export async function callServer<Schema extends z.ZodType>(
  place: ServerPlace,
  path: string,
  body: unknown,
  schema: Schema,
  isRepeatable = true,
): Promise<z.output<Schema>> {
  const patience = place.patience ?? PATIENCE
  const json = await withRetry((signal) => post(place, path, body, signal), advise, {
    ...patience,
    attempts: isRepeatable ? patience.attempts : ONCE,
  })
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new RunError(
    `dstack server: ${path}: ${issue?.path.join('.')} is not as in dstack 0.22 (${issue?.message}). Use a release that Speedproof knows`,
  )
}

async function post(place: ServerPlace, path: string, body: unknown, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(new URL(`api/${path}`, `${place.url.replace(/\/+$/, '')}/`), {
    method: 'POST',
    headers: { authorization: `Bearer ${place.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    // A redirect would take the token along.
    redirect: 'error',
    signal,
  }).catch((error: unknown) => {
    throw new NoAnswerError(
      `dstack server: no answer (${causeOf(error)}): check that it runs, and its address`,
    )
  })
  const text = await response.text()
  if (response.ok) return text === '' ? null : parseJson(text, path)
  throw refusal(response.status, text, path)
}

class NoAnswerError extends RunError {}

function advise(error: unknown): RetryAdvice {
  if (error instanceof NoAnswerError) return { kind: 'passing', afterMs: null }
  const isPassing = error instanceof RefusedError && (error.status >= 500 || error.status === 429)
  return isPassing ? { kind: 'passing', afterMs: null } : { kind: 'final' }
}

function refusal(status: number, text: string, path: string): Error {
  if (status === 401 || status === 403)
    return new ConfigError(
      `dstack server: ${path}: ${status}: the token is not valid here; expected one of a member of the project`,
    )
  const detail = errorAnswer.safeParse(tryJson(text)).data?.detail ?? ''
  const list = typeof detail === 'string' ? [{ msg: detail, code: undefined }] : detail
  const said = list.flatMap(({ msg }) => msg ?? []).join('; ') || 'no reason given'
  return new RefusedError(
    `dstack server: ${path}: ${status}: ${plainText(said)}`,
    status,
    list.flatMap(({ code }) => code ?? []),
  )
}

function parseJson(text: string, path: string): unknown {
  const json = tryJson(text)
  if (json === undefined)
    throw new RunError(`dstack server: ${path}: got no JSON; is the address a dstack server's?`)
  return json
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function causeOf(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error)
}
