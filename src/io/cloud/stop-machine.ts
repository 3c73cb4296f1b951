// Takes a machine down by the name of its run, and waits until the server has seen it go.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Departure, departureOfAll } from '../../cloud/gone.ts'
import { hasEnded } from '../../cloud/overdue.ts'
import { RunError } from '../../errors.ts'
import type { Dstack, Run } from './dstack.ts'
import { machineText } from './start-machine.ts'

export interface Stopping {
  readonly dstack: Dstack
  readonly waitMinutes: number
  readonly note: (message: string) => void
}

const POLL_MS = 2000
/** An order whose sender was killed may still be on its way. */
const LATE_ORDER_MS = 10_000

/** Throws a RunError that names what may cost on. */
export async function stopMachine(name: string, stopping: Stopping): Promise<void> {
  const { dstack, note } = stopping
  const run = (await dstack.run(name)) ?? (await lookAgain(name, dstack))
  if (run === null) return note(`no run ${name}: nothing was rented`)
  if ((await departureOf(run, dstack)).status === 'not-yet') await askToStop(run, dstack)
  await waitUntilGone(run, stopping)
}

async function lookAgain(name: string, dstack: Dstack): Promise<Run | null> {
  await sleep(LATE_ORDER_MS)
  return await dstack.run(name)
}

/** Without its back end the server would write the machine off unasked, and it would cost on. */
async function askToStop(run: Run, dstack: Dstack): Promise<void> {
  const backends = (await dstack.backends()).map(({ name }) => name)
  const lost = run.machines.filter(({ backend }) => !backends.includes(backend))
  if (lost.length > 0)
    throw new RunError(
      `run ${run.name} is not stopped: the dstack server has lost its back end, and would forget ${lost.map(machineText).join('; ')}. Put it into the server's config.yml, restart the server, and stop again`,
    )
  if (!hasEnded(run)) await dstack.stop(run.name)
}

async function waitUntilGone(run: Run, { dstack, waitMinutes, note }: Stopping): Promise<void> {
  const deadline = Date.now() + waitMinutes * 60_000
  let departure = await departureOf(run, dstack)
  while (departure.status === 'not-yet' && Date.now() < deadline) {
    await sleep(POLL_MS)
    departure = await departureOf(run, dstack)
  }
  const now = (await dstack.run(run.name)) ?? run
  const machines = now.machines.map(machineText).join('; ') || 'no machine'
  if (departure.status === 'gone') return note(`gone: ${machines} (run ${run.name}, ${now.status})`)
  throw new RunError(
    `run ${run.name}: not seen gone: ${machines}. ${departure.reason}. Look into the provider's console, and delete it there`,
  )
}

/** While the run lasts, it may order another one. */
export async function departureOf({ name }: Pick<Run, 'name'>, dstack: Dstack): Promise<Departure> {
  const run = await dstack.run(name)
  if (run === null) return { status: 'given-up', reason: `run ${name} has vanished from the dstack server` }
  const instances = await dstack.instances(run)
  const all = departureOfAll(instances)
  if (run.machines.length > 0 && instances.length === 0)
    return { status: 'given-up', reason: 'the server has no events of its machine' }
  return all.status === 'gone' && !hasEnded(run)
    ? { status: 'not-yet', reason: `the run is ${run.status}` }
    : all
}
