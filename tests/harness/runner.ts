// Starts an action's entries as GitHub's runner does: main, perhaps a cancel, then post.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CancelDelays, endLikeRunner, RUNNER_DELAYS_MS } from './cancel.ts'
import { runnerEnvironment } from './runner-environment.ts'
import { type StageResult, startStage } from './stage.ts'

export interface ActionOptions {
  /** The script of `runs.main`. */
  main: string
  /** The script of `runs.post`; left out, nothing runs after main. */
  post?: string
  /** By the names of action.yml, hyphens and all. */
  inputs?: Record<string, string>
  /** Its declared defaults are set like inputs. */
  actionFile?: string
  event?: { name: string; payload: unknown; variables?: Record<string, string> }
  /** Added to the runner's environment; undefined takes a variable away. */
  environment?: Record<string, string | undefined>
  /** Where the step runs; a new empty folder when not given. */
  workspace?: string
  /** Time between the signals of a cancel; the runner's own by default. */
  cancelDelaysMs?: CancelDelays
}

export interface ActionResult {
  main: StageResult
  post: StageResult | null
}

export interface RunningAction extends AsyncDisposable {
  workspace: string
  temp: string
  pid: number
  finished: Promise<ActionResult>
  /** Resolves when a log line of main has the text; rejects when main ends without one. */
  waitForLog(text: string): Promise<void>
  /** Presses "Cancel workflow"; lastSignal is the last one that main needed. */
  cancel(): Promise<ActionResult & { lastSignal: NodeJS.Signals }>
}

/** Runs main and post to their end, and leaves nothing behind. */
export async function runAction(options: ActionOptions): Promise<ActionResult> {
  await using action = await startAction(options)
  return await action.finished
}

export async function startAction(options: ActionOptions): Promise<RunningAction> {
  const temp = await mkdtemp(join(tmpdir(), 'speedproof-runner-'))
  const workspace = options.workspace ?? join(temp, 'workspace')
  await mkdir(workspace, { recursive: true })
  const environment = await runnerEnvironment(options, temp, workspace)
  const main = await startStage(options.main, environment, temp, workspace)

  const finished = main.ended.then(async (mainResult): Promise<ActionResult> => {
    if (options.post === undefined) return { main: mainResult, post: null }
    const state = Object.entries(mainResult.state).map(([name, text]) => [`STATE_${name}`, text])
    const post = await startStage(
      options.post,
      { ...environment, ...Object.fromEntries(state) },
      temp,
      workspace,
    )
    return { main: mainResult, post: await post.ended }
  })

  return {
    workspace,
    temp,
    pid: main.pid,
    finished,
    waitForLog: main.waitForLog,
    async cancel() {
      const lastSignal = await endLikeRunner(main.child, options.cancelDelaysMs ?? RUNNER_DELAYS_MS)
      return { ...(await finished), lastSignal }
    },
    async [Symbol.asyncDispose]() {
      main.child.kill('SIGKILL')
      await finished.catch(() => {})
      await rm(temp, { recursive: true, force: true })
    },
  }
}
