// Whenever and however a measurement is ended, nothing stays on the machine and what was measured is kept.
// `npm run soak` does it a hundred times, by torchrun, and writes a record.
import { appendFile, writeFile } from 'node:fs/promises'
import { beforeAll, expect, it } from 'vitest'
import { seededRandom } from '../../src/statistics/random.ts'
import { endAfter, type Kill, type Launcher, undisturbedMilliseconds } from '../harness/random-kill.ts'

const KILLS = Number(process.env.KILLS ?? 3)
const RECORD = process.env.KILLS_RECORD
const LAUNCHER: Launcher = RECORD ? 'torchrun' : 'stand-in'
const random = seededRandom(KILLS)

let wholeMilliseconds: number

beforeAll(async () => {
  wholeMilliseconds = await undisturbedMilliseconds(LAUNCHER)
  if (RECORD) await writeFile(RECORD, '')
})

it.each(Array.from({ length: KILLS }, (_, index) => index + 1))(
  'end %i leaves no process and no lock, keeps what was measured, and concludes its check',
  async (number) => {
    const how: Kill['how'] = number % 2 === 0 ? 'kill' : 'cancel'
    // One in each part of the measurement, so that few of them see its start, its middle and its end too.
    const part = (number - 1 + random()) / KILLS
    const kill = { how, afterMilliseconds: Math.round(part * wholeMilliseconds) }
    const record = await endAfter(kill, LAUNCHER)
    if (RECORD) await appendFile(RECORD, `${JSON.stringify(record)}\n`)
    expect(record, JSON.stringify(record)).toMatchObject({
      ...{ processesLeft: 0, isForkingLeft: false, isLockHeld: false },
    })
    expect(record.postExitCode).toBe(0)
    expect(record.launchesKept).toBeGreaterThanOrEqual(record.launchesDone)
    // A check that was in progress must not stay so; before the first launch there is none.
    expect(record.checks).not.toContainEqual(expect.stringMatching(/^(in_progress|queued)/))
    expect(record.checks.length).toBeLessThanOrEqual(1)
  },
  120_000,
)
