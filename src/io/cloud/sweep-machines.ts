// Takes down what is older than its limit, and names what a server has written off lately.
import { isOverdue, isRemembered, rememberedSince } from '../../cloud/overdue.ts'
import { messageOf, RunError } from '../../errors.ts'
import { type Stopping, stopMachine } from './stop-machine.ts'

/** All are tried; throws a RunError for those that may cost on. */
export async function sweepMachines(stopping: Stopping): Promise<void> {
  const { dstack, note } = stopping
  const now = new Date()
  const overdue = (await dstack.runs('active')).filter((run) => isOverdue(run, now))
  const ended = (await dstack.runs(rememberedSince(now))).filter((run) => isRemembered(run, now))
  note(`${overdue.length} older than their limit; ${ended.length} that have ended lately`)
  const quietly = { ...stopping, note: () => {} }
  const problems = await Promise.all([
    ...overdue.map((run) => problemOf(() => stopMachine(run.name, stopping))),
    ...ended.map((run) => problemOf(() => stopMachine(run.name, quietly))),
  ])
  const found = problems.filter((problem) => problem !== null)
  if (found.length > 0) throw new RunError(found.join('\n'))
}

async function problemOf(act: () => Promise<void>): Promise<string | null> {
  try {
    await act()
    return null
  } catch (error) {
    return messageOf(error)
  }
}
