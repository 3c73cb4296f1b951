// Each log of tests/fixtures/logs is told by what a person would find in it; adding one is adding a file.
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { findRootCause, lastPrintedIn } from '../../../../src/io/process/log/root-cause.ts'
import { isIdle, type LaunchEnd, outcomeOf } from '../../../../src/measure/outcome.ts'
import { metricsProblem } from '../../../../src/read/read-metrics.ts'
import { aLaunchRecord, aPlannedRun, metricsLines, readMetricsLines } from '../../../fixtures/builders.ts'
import { aFolder, ROOT } from '../../../fixtures/processes/launching.ts'

const LOGS = join(ROOT, 'tests', 'fixtures', 'logs')

const header = z.strictObject({
  /** Which program made it, or `by hand` with the public source. */
  origin: z.string(),
  shows: z.string(),
  source: z.string().optional(),
  /** The exit code, negative for a signal. */
  ended: z.union([z.int(), z.literal('timed-out')]),
  /** How much of the metrics there was. */
  reported: z.enum(['whole', 'begun', 'stalled', 'nothing']).default('nothing'),
  /** What each rank left, the earliest first. */
  error_files: z.record(z.string(), z.unknown()).default({}),
  expect: z.strictObject({
    reason: z.string(),
    rank: z.int().optional(),
    says: z.array(z.string()),
    never: z.array(z.string()).default([]),
  }),
})

const METRICS = {
  whole: await readMetricsLines(metricsLines()),
  begun: await readMetricsLines(metricsLines().slice(0, 2)),
  stalled: await readMetricsLines(metricsLines().slice(0, 2)),
  nothing: metricsProblem('absent', 'the trainer wrote no metrics.jsonl into --out'),
}

const NAMES = (await readdir(LOGS)).filter((name) => name.endsWith('.log')).sort()

async function readCase(name: string) {
  const text = await readFile(join(LOGS, name), 'utf8')
  const end = text.indexOf('\n---\n')
  return { ...header.parse(parse(text.slice(0, end))), log: text.slice(end + 5) }
}

type Case = Awaited<ReturnType<typeof readCase>>

function endOf({ ended }: Case): LaunchEnd {
  if (ended === 'timed-out') return { status: 'timed-out', wallSeconds: 3600 }
  if (ended < 0) return { status: 'signalled', signal: `signal ${-ended}`, wallSeconds: 9 }
  return { status: 'exited', exitCode: ended, wallSeconds: 9 }
}

async function toldBy(given: Case) {
  const folder = await aFolder()
  const traces = { logFile: join(folder, 'log.txt'), errorDirectory: join(folder, 'errors') }
  await writeFile(traces.logFile, given.log)
  for (const [position, [rank, content]] of Object.entries(given.error_files).entries()) {
    const file = join(traces.errorDirectory, 'none_0', 'attempt_0', rank, 'error.json')
    await mkdir(join(file, '..'), { recursive: true })
    await writeFile(file, JSON.stringify(content))
    await utimes(file, 1000 + position, 1000 + position)
  }
  const reports = { lastSeconds: given.reported === 'stalled' ? 300 : 3590, longestGapSeconds: 10 }
  const launch = aLaunchRecord({ ...(await findRootCause(traces, endOf(given))), reports }, endOf(given))
  const metrics = METRICS[given.reported]
  const outcome = outcomeOf(aPlannedRun(), launch, metrics)
  if (!isIdle(launch, outcome)) return outcome
  return outcomeOf(aPlannedRun(), { ...launch, lastLine: await lastPrintedIn(traces.logFile) }, metrics)
}

test.each(NAMES)('%s', async (name) => {
  const given = await readCase(name)
  const outcome = await toldBy(given)
  if (outcome.status !== 'failed') throw new Error(`${name}: ${outcome.status}`)
  const { reason, rank, says, never } = given.expect
  expect(outcome).toMatchObject({ reason })
  for (const text of says) expect(outcome.message).toContain(text)
  for (const text of never) expect(outcome.message).not.toContain(text)
  if (rank !== undefined) expect(outcome.message).toMatch(new RegExp(`\\brank ${rank}\\b`))
  expect(outcome.message.length).toBeLessThan(1200)
})

test('most of the logs are of real programs, and the others say where they are from', async () => {
  const cases = await Promise.all(NAMES.map(readCase))
  const made = cases.filter(({ origin }) => origin.startsWith('made by programs/'))
  const byHand = cases.filter(({ origin }) => !made.some((one) => one.origin === origin))
  const programs = (await readdir(join(LOGS, 'programs'))).filter((name) => name.endsWith('.py'))
  expect(made.map(({ origin }) => /programs\/(\S+)/.exec(origin)?.[1])).toEqual(programs.sort())
  expect(cases.length).toBeGreaterThanOrEqual(40)
  expect(made.length).toBeGreaterThanOrEqual(30)
  for (const { origin, source } of byHand) expect([origin, source]).toEqual(['by hand', expect.any(String)])
})
