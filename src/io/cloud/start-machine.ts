// Rents one machine and waits until GitHub sees its runner; whatever goes wrong before that takes the machine down again.
import { setTimeout as sleep } from 'node:timers/promises'
import { refuseBackends } from '../../cloud/backends.ts'
import { PROVISIONING_MINUTES } from '../../cloud/limits.ts'
import { hasEnded } from '../../cloud/overdue.ts'
import { boundText } from '../../cloud/plan-text.ts'
import { runSpec, type Wish } from '../../cloud/request.ts'
import { CancelledError, ConfigError, messageOf, RunError } from '../../errors.ts'
import { dollars } from '../../text/numbers.ts'
import type { Dstack, Machine, Run } from './dstack.ts'
import type { Registered, RunnerRegistry } from './runner.ts'

export interface Starting {
  readonly dstack: Dstack
  readonly registry: RunnerRegistry
  readonly cancelled: AbortSignal
  readonly note: (message: string) => void
}

const POLL_MS = 2000

/** Throws a ConfigError, having rented nothing; a RunError or CancelledError, having asked for its end. */
export async function startMachine(name: string, wish: Wish, starting: Starting): Promise<void> {
  const { dstack, registry, note } = starting
  await refuseToStart(name, wish, dstack)
  const { first, total } = await dstack.offers(runSpec(name, wish, null))
  if (first.length === 0)
    throw new RunError(
      `no offer of ${wish.gpu} up to ${dollars(wish.maxPricePerHour)} per hour: nothing was rented. Wait, or ask for another GPU or price`,
    )
  note(boundText(wish))
  note(`${total} offers, the first at ${dollars(first[0]?.pricePerHour ?? 0)} per hour`)
  const runner = await registry.register(name)
  try {
    await dstack.start(runSpec(name, wish, runner))
    note(`run ${name} is asked for`)
    await waitForRunner(name, runner, starting)
  } catch (error) {
    await takeBack(name, runner, starting)
    throw error
  }
}

/** What makes a machine lose its way is refused before it is rented. */
export async function refuseServer(wish: Wish, dstack: Dstack): Promise<void> {
  refuseBackends(await dstack.backends(), wish)
  if (await dstack.hasFleet(wish.fleet)) return
  throw new ConfigError(
    `fleet: got ${wish.fleet}, which the dstack server does not have. Make it once: "type: fleet", "name: ${wish.fleet}", "nodes: 0..1", by dstack apply`,
  )
}

async function refuseToStart(name: string, wish: Wish, dstack: Dstack): Promise<void> {
  await refuseServer(wish, dstack)
  const earlier = await dstack.run(name)
  if (earlier !== null)
    throw new ConfigError(
      `run ${name} is there already (${earlier.status}): one attempt rents one machine. Re-run the workflow for another, or give each leg of a matrix its own "leg"`,
    )
}

async function waitForRunner(
  name: string,
  runner: Registered,
  { dstack, registry, cancelled, note }: Starting,
): Promise<void> {
  const deadline = Date.now() + PROVISIONING_MINUTES * 60_000
  let machine: Machine | undefined
  while (Date.now() < deadline) {
    const run = await dstack.run(name)
    if (machine === undefined && run?.machines[0] !== undefined) {
      machine = run.machines[0]
      note(`rented: ${machineText(machine)}`)
    }
    if (run === null || isOver(run)) throw new RunError(failureText(name, run))
    if (run.jobStatus === 'running' && (await registry.isOnline(runner.id))) return
    await sleep(POLL_MS, undefined, { signal: cancelled }).catch(() => {
      throw new CancelledError(`cancelled; the end of run ${name} is asked for`)
    })
  }
  throw new RunError(`no runner after ${PROVISIONING_MINUTES} minutes; the end of run ${name} is asked for`)
}

export function machineText({ backend, region, instanceId, pricePerHour }: Machine): string {
  return `${backend}, ${region}, instance ${instanceId}, at ${dollars(pricePerHour)} per hour`
}

function isOver(run: Run): boolean {
  return run.status === 'terminating' || hasEnded(run)
}

function failureText(name: string, run: Run | null): string {
  if (run === null) return `run ${name} has vanished from the dstack server`
  const why = run.reason === '' ? '' : `: ${run.reason}`
  return `run ${name} is ${run.status} before its runner was there${why}`
}

/** The last job of the workflow waits for the machine's end, and fails where it does not come. */
async function takeBack(
  name: string,
  { id }: Registered,
  { dstack, registry, note }: Starting,
): Promise<void> {
  await dstack.stop(name).catch((error: unknown) => note(messageOf(error)))
  await registry.remove(id)
}
