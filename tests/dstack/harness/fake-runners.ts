// GitHub's part: runners that are registered and come online, and the program that a machine downloads. The program is
// a fake, since the real one takes jobs of GitHub alone.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Answer,
  type LocalServer,
  type Request,
  refuse,
  startLocalServer,
} from '../../harness/local-server.ts'

export const RUNNER_TOKEN = 'github-token-that-administers'
export const REPOSITORY = 'octo-lab/solver'

interface Runner {
  readonly id: number
  readonly name: string
  readonly labels: readonly string[]
  status: 'offline' | 'online'
  job: 'none' | 'sent' | 'ended'
}

/** Waits for its job, writes what the real one writes when a job has come, and ends with the job. */
const PROGRAM = `#!/bin/sh
set -eu
github="\${SPEEDPROOF_RUNNER_URL%/program.tar.gz}"
call() { curl --fail --silent "$github/fake/$1/$ACTIONS_RUNNER_INPUT_JITCONFIG" > /dev/null; }
call online
until call job; do sleep 0.3; done
mkdir -p _diag
touch _diag/Worker_20261129-000000-utc.log
until call ended; do sleep 0.3; done
`

export class FakeRunners implements AsyncDisposable {
  readonly registered: Runner[] = []
  readonly #archive: Buffer
  #server: LocalServer | null = null

  private constructor(folder: string) {
    const place = join(folder, 'program')
    mkdirSync(place)
    writeFileSync(join(place, 'run.sh'), PROGRAM, { mode: 0o755 })
    const file = join(folder, 'program.tar.gz')
    const { status } = spawnSync('tar', ['-czf', file, '-C', place, 'run.sh'])
    if (status !== 0) throw new Error('tar failed')
    this.#archive = readFileSync(file)
  }

  static async start(folder: string): Promise<FakeRunners> {
    const runners = new FakeRunners(folder)
    runners.#server = await startLocalServer((request) => runners.#answer(request))
    return runners
  }

  get url(): string {
    return this.#server?.url ?? ''
  }

  get sha256(): string {
    return createHash('sha256').update(this.#archive).digest('hex')
  }

  named(name: string): Runner {
    const found = this.registered.find((runner) => runner.name === name)
    if (found === undefined) throw new Error(`no runner ${name}`)
    return found
  }

  #answer({ method, url, headers, body }: Request): Answer {
    if (url.pathname === '/program.tar.gz') return { kind: 'bytes', bytes: this.#archive }
    const [, fake, of = ''] = /^\/fake\/(\w+)\/(.+)$/.exec(url.pathname) ?? []
    if (fake !== undefined) return this.#tell(fake, this.named(of))
    if (headers.authorization !== `token ${RUNNER_TOKEN}`) return refuse(401, 'Bad credentials')
    const path = url.pathname.replace(`/repos/${REPOSITORY}/actions/runners`, '')
    const call = `${method} ${path.replace(/\d+$/, 'ID')}`
    if (call === 'GET /downloads') return ok([this.#program('linux', 'arm64'), this.#program('linux', 'x64')])
    if (call === 'POST /generate-jitconfig') return this.#register(JSON.parse(body.toString()))
    const index = this.registered.findIndex(({ id }) => path === `/${id}`)
    const runner = this.registered[index]
    if (runner === undefined) return refuse(404, 'Not Found')
    if (call === 'GET /ID') return ok(factsOf(runner))
    this.registered.splice(index, 1)
    return { kind: 'answer', status: 204, body: undefined }
  }

  #program(os: string, architecture: string) {
    const name = { os, architecture, filename: 'program.tar.gz' }
    return { ...name, download_url: `${this.url}/program.tar.gz`, sha256_checksum: this.sha256 }
  }

  #register({ name, labels }: { name: string; labels: string[] }): Answer {
    if (this.registered.some((runner) => runner.name === name))
      return refuse(409, `Already exists - A runner with the name ${name} already exists.`)
    const id = 20 + this.registered.length
    const runner: Runner = { id, name, labels, status: 'offline', job: 'none' }
    this.registered.push(runner)
    return { kind: 'answer', status: 201, body: { runner: factsOf(runner), encoded_jit_config: name } }
  }

  #tell(what: string, runner: Runner): Answer {
    if (what === 'online') runner.status = 'online'
    const isSo = what === 'online' || (what === 'job' ? runner.job !== 'none' : runner.job === 'ended')
    return isSo ? ok({}) : refuse(404, 'not yet')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]()
  }
}

function ok(body: unknown): Answer {
  return { kind: 'answer', status: 200, body }
}

function factsOf({ id, name, labels, status, job }: Runner) {
  const own = labels.map((label, index) => ({ id: index + 1, name: label, type: 'custom' }))
  return {
    id,
    name,
    os: 'linux',
    status,
    busy: job === 'sent',
    ephemeral: true,
    runner_group_id: 1,
    labels: own,
  }
}
