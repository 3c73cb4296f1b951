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
export async function stopMachine(name: string, { dstack, waitMinutes, note }: Stopping): Promise<void> {
  const deadline = Date.now() + waitMinutes * 60_000
  let run = (await dstack.run(name)) ?? (await lookAgain(name, dstack))
  if (run === null) return note(`no run ${name}: nothing was rented`)
  let departure = await departureOf(run, dstack)
  while (departure.status === 'not-yet' && Date.now() < deadline) {
    await askToStop(run, dstack)
    await sleep(POLL_MS)
    run = (await dstack.run(name)) ?? run
    departure = await departureOf(run, dstack)
  }
  const machines = run.machines.map(machineText).join('; ') || 'no machine'
  if (departure.status === 'gone') return note(`gone: ${machines} (run ${name}, ${run.status})`)
  throw new RunError(
    `run ${name}: not seen gone: ${machines}. ${departure.reason}. Look into the provider's console, and delete it there`,
  )
}

async function lookAgain(name: string, dstack: Dstack): Promise<Run | null> {
  await sleep(LATE_ORDER_MS)
  return await dstack.run(name)
}

/**
 * Again and again: dstack 0.22.5 may go on with a start that it has in hand, and forget that it was asked to stop
 * ("TERMINATING -> PROVISIONING" in its events). Without its back end it would write the machine off, which costs on.
 */
async function askToStop(run: Run, dstack: Dstack): Promise<void> {
  const backends = (await dstack.backends()).map(({ name }) => name)
  const lost = run.machines.filter(({ backend }) => !backends.includes(backend))
  if (lost.length > 0)
    throw new RunError(
      `run ${run.name} is not stopped: the dstack server has lost its back end, and would forget ${lost.map(machineText).join('; ')}. Put it into the server's config.yml, restart the server, and stop again`,
    )
  if (!hasEnded(run) && run.status !== 'terminating') await dstack.stop(run.name)
}

/** While the run lasts, it may order another machine. */
async function departureOf(run: Run, dstack: Dstack): Promise<Departure> {
  const instances = await dstack.instances(run)
  if (run.machines.length > 0 && instances.length === 0)
    return { status: 'not-yet', reason: 'The server has no events of its machine' }
  const all = departureOfAll(instances)
  return all.status === 'gone' && !hasEnded(run)
    ? { status: 'not-yet', reason: `The run is ${run.status}` }
    : all
}
