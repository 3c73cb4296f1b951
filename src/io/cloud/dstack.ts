// A dstack server, 0.22 or newer, in the few calls that Speedproof makes of it.
import { z } from 'zod'
import type { Backend } from '../../cloud/backends.ts'
import type { Instance, ServerEvent } from '../../cloud/gone.ts'
import type { ServerRun } from '../../cloud/overdue.ts'
import type { Offers } from '../../cloud/plan-text.ts'
import type { RunSpec } from '../../cloud/request.ts'
import { plainText } from '../system/sanitize.ts'
import {
  eventsAnswer,
  fleetsAnswer,
  instanceAnswer,
  planAnswer,
  projectAnswer,
  runAnswer,
} from './answers.ts'
import { callServer, RefusedError, type ServerPlace } from './call-server.ts'

/** What a provider has rented out. */
export interface Machine {
  readonly backend: string
  readonly region: string
  /** The provider's own, by which a person finds it in the provider's console. */
  readonly instanceId: string
  readonly pricePerHour: number
}

export interface Run extends ServerRun {
  readonly id: string
  /** Of its newest try. */
  readonly jobStatus: string
  /** Why it has ended, in the server's words; empty while it lasts. */
  readonly reason: string
  /** Of all tries. */
  readonly machines: readonly Machine[]
}

/** The most that the server gives at once. */
const PAGE = 100
const SHOWN_OFFERS = 10

export class Dstack {
  readonly #place: ServerPlace

  constructor(place: ServerPlace) {
    this.#place = place
  }

  async backends(): Promise<Backend[]> {
    const { backends } = await this.#call(`projects/${this.#project}/get`, {}, projectAnswer)
    return backends.map(({ name, config }) => ({
      name,
      // Left open, it is true.
      communityCloud: 'community_cloud' in config ? config.community_cloud !== false : null,
    }))
  }

  async hasFleet(name: string): Promise<boolean> {
    const fleets = await this.#call(this.#ofProject('fleets/list'), {}, fleetsAnswer)
    return fleets.some((fleet) => fleet.name === name && fleet.status === 'active')
  }

  /** Starts nothing. */
  async offers(spec: RunSpec): Promise<Offers> {
    const body = { run_spec: spec, max_offers: SHOWN_OFFERS }
    const { job_plans } = await this.#call(this.#ofProject('runs/get_plan'), body, planAnswer)
    const [plan] = job_plans
    const first = (plan?.offers ?? []).map(({ backend, region, price, instance: { resources } }) => ({
      ...{ backend, region: plainText(region), pricePerHour: price },
      gpus: gpusText(resources.gpus),
    }))
    return { first, total: plan?.total_offers ?? 0 }
  }

  /** An answer that is lost may have started it all the same: the name tells. */
  async start(spec: RunSpec): Promise<Run> {
    try {
      const body = { plan: { run_spec: spec }, force: false }
      return runOf(await this.#call(this.#ofProject('runs/apply'), body, runAnswer, false))
    } catch (error) {
      if (error instanceof RefusedError && error.status < 500) throw error
      const started = await this.run(spec.run_name)
      if (started === null) throw error
      return started
    }
  }

  async run(name: string): Promise<Run | null> {
    const answer = await orNull(this.#call(this.#ofProject('runs/get'), { run_name: name }, runAnswer))
    return answer === null ? null : runOf(answer)
  }

  /** All that are active, or else all since then; the newest first. */
  async runs(since: 'active' | Date): Promise<Run[]> {
    const all: Run[] = []
    const body = {
      project_name: this.#place.project,
      only_active: since === 'active',
      job_submissions_limit: 1,
    }
    let page: z.output<typeof runAnswer>[]
    let after = {}
    do {
      page = await this.#call('runs/list', { ...body, ...after, limit: PAGE }, z.array(runAnswer))
      const last = page.at(-1)
      after = { prev_submitted_at: last?.submitted_at, prev_run_id: last?.id }
      all.push(...page.map(runOf))
    } while (page.length === PAGE && (since === 'active' || (page.at(-1)?.submitted_at ?? since) > since))
    return all
  }

  /** Asks for it, once more where it was asked for before; says nothing of whether the machine goes. */
  async stop(name: string): Promise<void> {
    await this.#call(this.#ofProject('runs/stop'), { runs_names: [name], abort: false }, z.unknown())
  }

  /** All that the run has ordered, with what the server has noted of each. */
  async instances({ id }: Pick<Run, 'id'>): Promise<Instance[]> {
    const ofRun = await this.#events({ within_runs: [id] })
    const targets = ofRun.flatMap((event) => event.targets).filter(({ type }) => type === 'instance')
    const ids = [...new Set(targets.map((target) => target.id))]
    return await Promise.all(
      ids.map(async (instanceId) => {
        const asked = this.#call(this.#ofProject('instances/get'), { id: instanceId }, instanceAnswer)
        const instance = await orNull(asked)
        // Afterwards: what the state tells of is among them.
        const events = await this.#events({ target_instances: [instanceId] })
        const name = targets.find((target) => target.id === instanceId)?.name ?? instanceId
        return { name: plainText(name), status: instance?.status ?? null, events: events.map(eventOf) }
      }),
    )
  }

  /** Oldest first, all pages. */
  async #events(filter: Readonly<Record<string, unknown>>): Promise<z.output<typeof eventsAnswer>> {
    const all: z.output<typeof eventsAnswer> = []
    for (;;) {
      const last = all.at(-1)
      const after = last === undefined ? {} : { prev_recorded_at: last.recorded_at, prev_id: last.id }
      const body = { ...filter, ...after, limit: PAGE, ascending: true }
      const page = await this.#call('events/list', body, eventsAnswer)
      all.push(...page)
      if (page.length < PAGE) return all
    }
  }

  get #project(): string {
    return encodeURIComponent(this.#place.project)
  }

  #ofProject(path: string): string {
    return `project/${this.#project}/${path}`
  }

  async #call<Schema extends z.ZodType>(
    path: string,
    body: unknown,
    schema: Schema,
    isRepeatable = true,
  ): Promise<z.output<Schema>> {
    return await callServer(this.#place, path, body, schema, isRepeatable)
  }
}

/** Null where the server has no such thing. */
async function orNull<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call
  } catch (error) {
    if (error instanceof RefusedError && error.codes.includes('resource_not_exists')) return null
    throw error
  }
}

function runOf(answer: z.output<typeof runAnswer>): Run {
  const { max_duration: maxDuration } = answer.run_spec.configuration
  const tries = answer.jobs.flatMap(({ job_submissions }) => job_submissions)
  const last = tries.at(-1)
  const words = [last?.status_message, last?.termination_reason, last?.termination_reason_message]
  return {
    id: answer.id,
    name: answer.run_spec.run_name ?? '',
    status: answer.status,
    submittedAt: answer.submitted_at,
    maxSeconds: typeof maxDuration === 'number' ? maxDuration : null,
    jobStatus: last?.status ?? 'none',
    reason: plainText(last?.termination_reason ? words.filter(Boolean).join(', ') : ''),
    machines: tries.flatMap(({ job_provisioning_data: data }) =>
      data === null
        ? []
        : [
            {
              backend: data.backend,
              region: plainText(data.region),
              instanceId: plainText(data.instance_id),
              pricePerHour: data.price,
            },
          ],
    ),
  }
}

function eventOf({ message, recorded_at }: z.output<typeof eventsAnswer>[number]): ServerEvent {
  return { message: plainText(message), recordedAt: new Date(recorded_at) }
}

/** 1 x H100 80 GB. */
function gpusText(gpus: readonly { readonly name: string; readonly memory_mib: number }[]): string {
  const [first] = gpus
  if (first === undefined) return 'none'
  return `${gpus.length} x ${plainText(first.name)} ${Math.round(first.memory_mib / 1024)} GB`
}
