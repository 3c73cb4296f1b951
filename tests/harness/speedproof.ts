// The committed action, as `uses:` finds it, on a pull request of its own repository and between the two fakes.
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { pullRequestEvent } from './events.ts'
import { type FakeArtifacts, startFakeArtifacts } from './fake-artifacts.ts'
import { type FakeGitHub, startFakeGitHub } from './fake-github.ts'
import {
  type ActionOptions,
  type ActionResult,
  type RunningAction,
  runAction,
  startAction,
} from './runner.ts'
import { zip } from './zip.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const ACTION_FILE = join(ROOT, 'action.yml')

const actionFile = z.object({
  runs: z.object({
    using: z.literal('node24'),
    main: z.string(),
    post: z.string(),
    'post-if': z.literal('always()'),
  }),
})

export interface Services extends AsyncDisposable {
  github: FakeGitHub
  artifacts: FakeArtifacts
}

export async function startServices(): Promise<Services> {
  await using opening = new AsyncDisposableStack()
  const github = opening.use(await startFakeGitHub())
  const artifacts = opening.use(await startFakeArtifacts())
  const opened = opening.move()
  return { github, artifacts, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** What a job has uploaded is what later jobs, and other runs, find. */
export function keepArtifacts({ artifacts, github }: Services, runId: number): void {
  for (const [name, files] of Object.entries(artifacts.uploaded)) {
    if (github.archives.some((archive) => archive.name === name)) continue
    const content = Object.entries(files).map(([path, bytes]) => ({ name: path, content: bytes }))
    github.archives.push({ name, runId, bytes: zip(content) })
  }
}

/** Runs the action on the experiment of a folder, main and post. */
export async function measure(
  folder: string,
  services: Services,
  changes: Partial<ActionOptions> = {},
): Promise<ActionResult> {
  return await runAction(await stepOf(folder, services, changes))
}

export async function startMeasuring(
  folder: string,
  services: Services,
  changes: Partial<ActionOptions> = {},
): Promise<RunningAction> {
  return await startAction(await stepOf(folder, services, changes))
}

async function stepOf(
  folder: string,
  { github, artifacts }: Services,
  changes: Partial<ActionOptions>,
): Promise<ActionOptions> {
  const path = changes.actionFile ?? ACTION_FILE
  const { runs } = actionFile.parse(parse(await readFile(path, 'utf8')))
  return {
    main: join(dirname(path), runs.main),
    post: join(dirname(path), runs.post),
    actionFile: path,
    event: pullRequestEvent(),
    workspace: folder,
    ...changes,
    inputs: { experiment: 'experiment.yaml', ...changes.inputs },
    environment: { GITHUB_API_URL: github.url, ...artifacts.environment, ...changes.environment },
  }
}
