// Artifacts that are damaged at random, with fixed seeds: none of them crashes a report job, and none is green.
import { beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/statistics/random.ts'
import { JudgingFolder } from '../fixtures/judge-files.ts'
import { type Files, mutated } from '../fixtures/mutations.ts'
import { type Measured, measureForReport, report, servicesWith } from '../harness/report-job.ts'

/** `npm run fuzz` tries more of them. */
const COUNT = Number(process.env.FUZZ ?? 10_000)
const THROUGH_BUNDLE = 100
const AT_ONCE = 4
/** Of a machine that is at work with something else. */
const PATIENCE_MILLISECONDS = 100 * COUNT

const READ = /(^|\/)(result\.json|(machine|metrics)\.jsonl)$/
/** What a text has where a number or a value is missing. */
const LEAK = /\bNaN\b|\bInfinity\b|\bundefined\b|\[object /

let measured: Measured
let files: Files

beforeAll(async () => {
  // Two gates are missed: no single change of a number makes both of them good.
  measured = await measureForReport({ optimized: { step_seconds: 0.002, val_loss: 1 } })
  files = Object.fromEntries(Object.entries(measured.files).filter(([name]) => READ.test(name)))
})

it(
  'no damaged artifact crashes the judging, or is green',
  async () => {
    await using folder = await JudgingFolder.open(measured.experiment)
    expect((await folder.judge(files)).conclusion).toBe('failure')
    const wrong: { seed: number; problem: string }[] = []
    for (let seed = 0; seed < COUNT; seed += 1) {
      const problem = await problemOf(folder, mutated(files, seededRandom(seed)))
      if (problem !== null) wrong.push({ seed, problem })
    }
    expect(wrong).toEqual([])
  },
  PATIENCE_MILLISECONDS,
)

async function problemOf(folder: JudgingFolder, damaged: Files): Promise<string | null> {
  try {
    const { conclusion, text } = await folder.judge(damaged)
    return conclusion === 'failure' ? (LEAK.exec(text)?.[0] ?? null) : conclusion
  } catch (error) {
    return String(error)
  }
}

describe('through the action itself', () => {
  it.each(Array.from({ length: AT_ONCE }, (_, lane) => lane))(
    'each check is a failure, and says why: part %i',
    async (lane) => {
      for (let seed = lane; seed < THROUGH_BUNDLE; seed += AT_ONCE) {
        const damaged = mutated(files, seededRandom(seed))
        await using services = await servicesWith({ ...measured, files: damaged })
        const { exitCode, outputs } = await report(services)
        expect({ seed, exitCode }).toEqual({ seed, exitCode: 0 })
        expect(services.github.checks).toMatchObject([{ status: 'completed', conclusion: 'failure' }])
        expect(outputs.verdict ?? 'failed').not.toBe('passed')
      }
    },
    600_000,
  )
})
