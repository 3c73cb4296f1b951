// A real HTTP server on this machine, for the fakes.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

export interface Request {
  method: string
  url: URL
  headers: IncomingMessage['headers']
  body: Buffer
}

export type Answer =
  | { kind: 'answer'; status: number; headers?: Record<string, string>; body: unknown }
  | { kind: 'bytes'; bytes: Buffer }
  /** The connection ends without a word. */
  | { kind: 'dropped' }
  /** Nothing comes, ever. */
  | { kind: 'hanging' }

export interface LocalServer extends AsyncDisposable {
  url: string
}

export async function startLocalServer(answer: (request: Request) => Answer): Promise<LocalServer> {
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = await incoming.toArray()
    const { method = '', url = '/', headers } = incoming
    const body = Buffer.concat(chunks)
    try {
      reply(response, answer({ method, url: new URL(url, origin()), headers, body }))
    } catch (error) {
      response.destroy()
      throw error // A mistake in a fake: it must reach the test run, and the client must not wait.
    }
  })
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle))

  function origin(): string {
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('the server has no port')
    return `http://127.0.0.1:${address.port}`
  }

  return {
    url: origin(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((settle) => server.close(settle))
    },
  }
}

/** An error with the body that GitHub gives to all of its errors. */
export function refuse(status: number, message: string, headers: Record<string, string> = {}): Answer {
  const body = { message, documentation_url: 'https://docs.github.com/rest', status: String(status) }
  return { kind: 'answer', status, headers, body }
}

function reply(response: ServerResponse, answer: Answer): void {
  switch (answer.kind) {
    case 'dropped':
      response.destroy()
      return
    case 'hanging':
      return
    case 'bytes':
      response.writeHead(200, { 'content-type': 'application/zip' })
      response.end(answer.bytes)
      return
    case 'answer': {
      const text = answer.body === undefined ? '' : JSON.stringify(answer.body)
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
      response.end(text)
    }
  }
}
