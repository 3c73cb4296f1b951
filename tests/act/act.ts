// Runs a workflow file in act, on this machine and between the fakes, with the committed dist.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { goTool } from '../../scripts/workflow-tools.ts'
import { PYTHON, ROOT } from '../fixtures/processes/launching.ts'
import type { Services } from '../harness/speedproof.ts'

const STAND_INS = join(ROOT, 'tests', 'fixtures', 'workflows')
/** Every label of ours is this machine; anything else would ask for Docker. */
const LABELS = ['ubuntu-latest', 'self-hosted', 'gpu']

export interface ActRun {
  readonly exitCode: number | null
  readonly log: string
}

/** `copy` is a plain copy of the repository; `event` is the payload as GitHub sends it. */
export async function runInAct(
  copy: string,
  workflow: string,
  { name, payload }: { name: string; payload: unknown },
  { github, artifacts }: Services,
): Promise<ActRun> {
  const folder = await mkdtemp(join(tmpdir(), 'speedproof-act-'))
  try {
    const event = join(folder, 'event.json')
    await writeFile(event, JSON.stringify(payload))
    const environment = {
      ...artifacts.environment,
      GITHUB_API_URL: github.url,
      CHECKOUT_FROM: copy,
      INSTALLED_VENV: dirname(dirname(PYTHON)),
      SPEEDPROOF_LOCK_FOLDER: folder,
    }
    const words = [
      ...[name, '--workflows', join(copy, '.github', 'workflows', workflow), '--eventpath', event],
      ...LABELS.flatMap((label) => ['--platform', `${label}=-self-hosted`]),
      ...(await standIns(copy)).flatMap((one) => ['--local-repository', one]),
      // What the fake GitHub knows as the token of a job.
      ...['--secret', 'GITHUB_TOKEN=job-token'],
      ...Object.entries(environment).flatMap(([key, value]) => ['--env', `${key}=${value}`]),
    ]
    return await run(words, copy, folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Other people's actions would be fetched: here a checkout copies the tree, and the others have nothing to do. */
async function standIns(copy: string): Promise<string[]> {
  const workflows = join(copy, '.github', 'workflows')
  const names = await readdir(workflows)
  const texts = await Promise.all(names.map((one) => readFile(join(workflows, one), 'utf8')))
  const uses = texts.flatMap((one) =>
    Array.from(one.matchAll(/uses: ([\w-]+\/[\w-]+@\w+)/g), ([, used = '']) => used),
  )
  return [...new Set(uses)].map((used) => {
    const standIn = used.startsWith('actions/checkout@') ? 'checkout' : 'nothing'
    return `${used}=${join(STAND_INS, standIn)}`
  })
}

async function run(words: readonly string[], copy: string, folder: string): Promise<ActRun> {
  const PATH = [join(STAND_INS, 'programs'), dirname(process.execPath), process.env.PATH].join(':')
  // act keeps the folders of its jobs in the cache folder.
  const env = { ...process.env, PATH, XDG_CACHE_HOME: join(folder, 'cache') }
  const child = spawn(goTool('act'), words, { cwd: copy, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ])
  return { exitCode, log: stdout + stderr }
}
