// A real dstack server on this host, with its back end in config.yml and its state in SQLite.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export const TOKEN = 'a-token-of-the-tests'

export interface ServerPlace {
  readonly folder: string
  /** Of .venv-dstack. */
  readonly bin: string
  /** How it reaches its back end. */
  readonly environment: Readonly<Record<string, string>>
}

/** `communityCloud`: null leaves it open, as a user may. */
export interface Project {
  readonly name: string
  readonly communityCloud: boolean | null
}

export class DstackServer implements AsyncDisposable {
  readonly url: string
  readonly #port: number
  readonly #place: ServerPlace
  #process: ChildProcess | null = null

  constructor(place: ServerPlace, port: number) {
    this.#place = place
    this.#port = port
    this.url = `http://127.0.0.1:${port}`
  }

  static async start(place: ServerPlace, projects: readonly Project[]): Promise<DstackServer> {
    mkdirSync(place.folder, { recursive: true })
    const server = new DstackServer(place, await freePort())
    server.configure(projects)
    await server.start()
    return server
  }

  /** Its back ends stand in its file, where a restart finds them again; without projects, main is left without any. */
  configure(projects: readonly Project[]): void {
    const listed = projects.map(({ name, communityCloud }) => {
      const open = communityCloud === null ? {} : { community_cloud: communityCloud }
      const creds = { type: 'api_key', api_key: 'a-key-of-the-tests' }
      return { name, backends: [{ type: 'vastai', ...open, creds }] }
    })
    const text = JSON.stringify({ projects: projects.length > 0 ? listed : [{ name: 'main', backends: [] }] })
    writeFileSync(join(this.#place.folder, 'config.yml'), text)
  }

  async start(): Promise<void> {
    const { folder, bin, environment } = this.#place
    const words = ['server', '--host', '127.0.0.1', '--port', String(this.#port), '--no', '--token', TOKEN]
    const child = spawn(join(bin, 'dstack'), words, {
      env: { PATH: process.env.PATH, HOME: folder, DSTACK_SERVER_DIR: folder, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#process = child
    const log = createWriteStream(join(folder, 'server.log'), { flags: 'a' })
    child.stdout.pipe(log)
    child.stderr.pipe(log)
    while (!(await this.#answers())) {
      if (child.exitCode !== null) throw new Error(`dstack server ended: see ${folder}/server.log`)
      await sleep(200)
    }
  }

  /** Without a word to anybody. */
  async kill(): Promise<void> {
    const child = this.#process
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  /** As if the run had been started that much earlier. */
  age(runName: string, minutes: number): void {
    const { folder, bin } = this.#place
    const file = join(folder, 'data', 'sqlite.db')
    const { status, stderr } = spawnSync(join(bin, 'python'), ['-c', AGE, file, runName, String(minutes)], {
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(stderr)
  }

  async call(path: string, body: unknown = {}): Promise<unknown> {
    const response = await fetch(`${this.url}/api/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return text === '' ? null : JSON.parse(text)
  }

  async makeFleet(project: string, name: string, nodes: string): Promise<void> {
    const configuration = { type: 'fleet', name, nodes }
    const spec = { configuration, profile: { name: 'default' } }
    await this.call(`project/${project}/fleets/apply`, { plan: { spec }, force: false })
  }

  async #answers(): Promise<boolean> {
    return await fetch(`${this.url}/api/server/get_info`, { method: 'POST' }).then(
      ({ ok }) => ok,
      () => false,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }
}

const AGE = `
import sqlite3, sys
with sqlite3.connect(sys.argv[1], timeout=30) as base:
    shift = f"-{sys.argv[3]} minutes"
    base.execute("UPDATE runs SET submitted_at = datetime(submitted_at, ?) WHERE run_name = ?", (shift, sys.argv[2]))
`

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  await new Promise((settle) => server.close(settle))
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}
