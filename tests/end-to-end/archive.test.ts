// What GitHub downloads for `uses:`, the archive of a commit, is small and holds all that the action runs.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { anExperiment, EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { aFolder, ROOT } from '../fixtures/processes/launching.ts'
import { runAction } from '../harness/runner.ts'

const MOST_BYTES = 3e6
const actionFile = z.object({ runs: z.object({ main: z.string(), post: z.string() }) })

let archive: Buffer
let folder: string

beforeAll(async () => {
  archive = execFileSync('git', ['archive', 'HEAD'], { cwd: ROOT, maxBuffer: 1024 ** 3 })
  folder = await aFolder()
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
})

it('it is at most 3 MB', () => {
  expect(gzipSync(archive).length).toBeLessThan(MOST_BYTES)
})

it.each(['action.yml', '.github/actions/speedproof/action.yml'])('%s starts from it', async (name) => {
  const file = join(folder, name)
  const { runs } = actionFile.parse(parse(readFileSync(file, 'utf8')))
  const [main, post] = [runs.main, runs.post].map((entry) => join(dirname(file), entry))
  const workspace = await anExperiment()
  const ended = await runAction({
    main: main ?? '',
    post: post ?? '',
    actionFile: file,
    inputs: { experiment: EXPERIMENT_FILE, report: 'artifact' },
    workspace,
  })
  expect(ended.post?.exitCode).toBe(0)
  expect(ended.main.outputs).toMatchObject({ verdict: 'passed' })
  // Its own programs in Python watched the machine and the processes.
  const { outcomes } = await readResult(workspace)
  expect(outcomes.map(({ status }) => status)).toEqual(['finished', 'finished'])
})

it('it has the reusable workflows, the schemas and the programs that the bundle starts', () => {
  const tracked = execFileSync('git', ['ls-files', '.github', 'dist', 'schemas', 'src/**/*.py'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  const files = tracked.trim().split('\n')
  expect(files.filter((file) => !existsSync(join(folder, file)))).toEqual([])
  expect(files.some((file) => file.endsWith('.py'))).toBe(true)
})
