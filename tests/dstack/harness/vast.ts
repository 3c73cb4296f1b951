// A stateful Vast.ai behind a proxy of our own: its offers, and the machines that are rented from it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { makeCertificate } from './certificate.ts'

const HOST = 'console.vast.ai'

/** What becomes of the machines with one kind of GPU. */
export type Behaviour =
  /** Boots, runs its task and is deleted when asked. */
  | 'works'
  /** Is offered, but never rented out. */
  | 'refuses'
  /** Is rented out and paid for, and does not boot. */
  | 'breaks'
  /** Is rented out and paid for, and boots for ever. */
  | 'loads'
  /** Works, and every DELETE is refused. */
  | 'stays'

export interface Offer {
  readonly gpu: string
  readonly dollarsPerHour: number
  readonly behaviour: Behaviour
}

export interface Rented {
  readonly id: number
  readonly offer: Offer
  readonly label: string
  readonly folder: string
  sshPort: number | null
  deleteCalls: number
  isDeleted: boolean
}

export class Vast implements AsyncDisposable {
  readonly offers: Offer[] = []
  readonly machines: Rented[] = []
  readonly #folder: string
  readonly #python: string
  readonly #processes = new Map<number, ChildProcess>()
  readonly #proxy = createServer((_, response) => response.writeHead(502).end())
  #proxyUrl = ''
  #certificateFile = ''

  constructor(folder: string, python: string) {
    this.#folder = folder
    this.#python = python
  }

  static async start(folder: string, python: string): Promise<Vast> {
    const vast = new Vast(folder, python)
    await vast.#listen()
    return vast
  }

  /** For the server, which reaches this host directly and everything else through us. */
  get environment(): Record<string, string> {
    const proxy = { HTTPS_PROXY: this.#proxyUrl, https_proxy: this.#proxyUrl }
    const direct = { NO_PROXY: '127.0.0.1,localhost', no_proxy: '127.0.0.1,localhost' }
    const trusted = { SSL_CERT_FILE: this.#certificateFile, REQUESTS_CA_BUNDLE: this.#certificateFile }
    return { ...proxy, ...direct, ...trusted }
  }

  /** What is still paid for. */
  get running(): readonly Rented[] {
    return this.machines.filter(({ isDeleted }) => !isDeleted)
  }

  rentedAs(runName: string): Rented | undefined {
    return this.machines.find(({ label }) => label.includes(`-${runName}-`))
  }

  async #listen(): Promise<void> {
    const { keyFile, certificateFile } = makeCertificate(this.#folder, HOST)
    this.#certificateFile = certificateFile
    const pair = { key: readFileSync(keyFile), cert: readFileSync(certificateFile) }
    const vast = createSecureServer(pair, async (request, response) => {
      const { status, body } = await this.#answer(request)
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    this.#proxy.on('connect', ({ url }, socket) => {
      socket.on('error', () => socket.destroy())
      if (url !== `${HOST}:443`) {
        socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
        return
      }
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      vast.emit('connection', socket)
    })
    await once(this.#proxy.listen(0, '127.0.0.1'), 'listening')
    this.#proxyUrl = `http://127.0.0.1:${(this.#proxy.address() as AddressInfo).port}`
  }

  async #answer(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const chunks: Buffer[] = await request.toArray()
    const text = Buffer.concat(chunks).toString()
    const { method, url = '' } = request
    const [, kind = '', id = ''] = /^\/api\/v\d\/(\w+)\/(?:(\d+)\/)?$/.exec(url) ?? []
    const call = `${method} ${kind}`
    if (call === 'POST bundles') return ok({ offers: this.#offered(JSON.parse(text)) })
    if (call === 'PUT asks') return await this.#rent(Number(id), JSON.parse(text))
    if (call === 'GET instances' && id === '') return ok({ instances: [] })
    const machine = this.machines.find((one) => one.id === Number(id) && !one.isDeleted)
    if (call === 'GET instances') return ok({ instances: machine ? stateOf(machine) : null })
    if (call === 'DELETE instances')
      return machine ? this.#delete(machine) : { status: 404, body: noSuchInstance }
    return { status: 404, body: { success: false } }
  }

  #offered(filters: Record<string, unknown>): unknown[] {
    return this.offers.map((offer, index) => bundle(offer, index + 1)).filter((one) => fits(one, filters))
  }

  async #rent(id: number, { label }: { label: string }): Promise<{ status: number; body: unknown }> {
    const offer = this.offers[id - 1]
    if (offer === undefined || offer.behaviour === 'refuses')
      return { status: 400, body: { success: false, error: 'no_such_ask', msg: 'no longer available' } }
    const machine = {
      ...{ id: 7000 + this.machines.length, offer, label, sshPort: null, deleteCalls: 0, isDeleted: false },
      folder: join(this.#folder, `machine-${this.machines.length}`),
    }
    this.machines.push(machine)
    mkdirSync(machine.folder)
    if (offer.behaviour === 'works' || offer.behaviour === 'stays') await this.#boot(machine)
    return ok({ success: true, new_contract: machine.id })
  }

  async #boot(machine: Rented): Promise<void> {
    const script = join(import.meta.dirname, 'machine.py')
    const child = spawn(this.#python, [script, machine.folder], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#processes.set(machine.id, child)
    const [port] = await once(createInterface(child.stdout), 'line')
    machine.sshPort = Number(port)
  }

  #delete(machine: Rented): { status: number; body: unknown } {
    machine.deleteCalls += 1
    if (machine.offer.behaviour === 'stays')
      return { status: 500, body: { success: false, error: 'internal', msg: 'try again' } }
    machine.isDeleted = true
    this.#processes.get(machine.id)?.kill()
    return ok({ success: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#processes.values()) child.kill()
    this.#proxy.closeAllConnections()
    await new Promise((settle) => this.#proxy.close(settle))
  }
}

const noSuchInstance = { success: false, error: 'no_such_instance' }

function ok(body: unknown) {
  return { status: 200, body }
}

function bundle({ gpu, dollarsPerHour }: Offer, id: number) {
  return {
    ...{ id, gpu_name: gpu, num_gpus: 1, gpu_ram: 81_559, cpu_cores: 64, cpu_cores_effective: 32 },
    ...{ cpu_ram: 256_000, disk_space: 500, storage_cost: 0.1, geolocation: 'Oslo, NO', datacenter: true },
    ...{ dph_base: dollarsPerHour, dph_total: dollarsPerHour, direct_port_count: 9, reliability2: 0.99 },
    ...{ inet_down: 900, verified: true, cuda_max_good: 13, compute_cap: 900, rentable: true, rented: false },
  }
}

/** As Vast.ai reads a query: {"num_gpus": {"gte": 1}, ...}; what is no condition on an offer is left alone. */
function fits(offer: Readonly<Record<string, unknown>>, filters: Record<string, unknown>): boolean {
  return Object.entries(filters).every(([key, conditions]) => {
    if (!(key in offer) || typeof conditions !== 'object' || conditions === null) return true
    return Object.entries(conditions).every(([word, wanted]) => holds(offer[key], word, wanted))
  })
}

function holds(value: unknown, word: string, wanted: unknown): boolean {
  if (word === 'in') return Array.isArray(wanted) && wanted.includes(value)
  if (word === 'eq') return value === wanted
  const difference = Number(value) - Number(wanted)
  return { gte: difference >= 0, gt: difference > 0, lte: difference <= 0, lt: difference < 0 }[word] ?? false
}

function stateOf({ id, offer, sshPort }: Rented) {
  if (offer.behaviour === 'breaks')
    return { id, actual_status: 'created', status_msg: 'Error: OCI runtime create failed: no device' }
  if (sshPort === null) return { id, actual_status: 'loading', status_msg: 'pulling the image' }
  const ports = { '10022/tcp': [{ HostIp: '0.0.0.0', HostPort: String(sshPort) }] }
  return { id, actual_status: 'running', status_msg: '', public_ipaddr: '127.0.0.1', ports }
}
