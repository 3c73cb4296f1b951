// Runs the steps of a job on this machine: our action and its shell scripts for real, other people's actions not at all.
import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { PYTHON, QUICK_PYTHON, ROOT } from '../../fixtures/processes/launching.ts'
import type { ActionOptions, ActionResult } from '../runner.ts'
import { keepArtifacts, measure, type Services } from '../speedproof.ts'
import { type Contexts, fillTexts, holds, type SoFar } from './expressions.ts'
import { ownPath } from './files.ts'
import type { Happening, JobEnd, JobToRun, RunJob } from './run-workflow.ts'
import type { Permissions, Step } from './workflow-file.ts'

export interface Machine {
  /** Holds what a checkout would bring. */
  readonly workspace: string
  readonly services: Services
  readonly happening: Happening
  /** What our own action did, in order. */
  readonly ran: ActionResult[]
  /** Runs main and post; a test that cancels puts its own here. */
  readonly act?: (folder: string, services: Services, options: Partial<ActionOptions>) => Promise<ActionEnd>
}

/** With the last signal where it was cancelled. */
type ActionEnd = ActionResult & { readonly lastSignal?: NodeJS.Signals }
type Outputs = Readonly<Record<string, string>>
type StepEnd = { readonly outcome: 'success' | 'failure' | 'cancelled'; readonly outputs: Outputs }

const NOTHING: StepEnd = { outcome: 'success', outputs: {} }

export function onMachine(machine: Machine): RunJob {
  return async (job) => {
    const steps: Record<string, StepEnd> = {}
    let soFar: SoFar & JobEnd['result'] = 'success'
    for (const step of job.steps) {
      const contexts = { ...job.contexts, steps }
      if (!holds(step.condition, contexts, soFar)) continue
      const end = await runStep(step, contexts, job, machine)
      if (step.id !== undefined) steps[step.id] = end
      if (end.outcome !== 'success') soFar = end.outcome
    }
    return { result: soFar, outputs: fillTexts(job.outputs, { ...job.contexts, steps }) }
  }
}

async function runStep(step: Step, contexts: Contexts, job: JobToRun, machine: Machine): Promise<StepEnd> {
  if (step.run !== undefined) return await runScript(step.run, fillTexts(step.env, contexts), machine)
  const path = ownPath(step.uses ?? '')
  if (path === null) return NOTHING
  return await runOwnAction(join(ROOT, path, 'action.yml'), fillTexts(step.with, contexts), job, machine)
}

async function runScript(script: string, environment: Outputs, { workspace }: Machine): Promise<StepEnd> {
  // As setup-python leaves it: `python` is the interpreter of the job.
  const PATH = `${dirname(PYTHON)}:${process.env.PATH}`
  await promisify(execFile)('bash', ['-e', '-c', script], {
    cwd: workspace,
    env: { ...process.env, ...environment, PATH },
  })
  return NOTHING
}

async function runOwnAction(
  actionFile: string,
  inputs: Outputs,
  job: JobToRun,
  machine: Machine,
): Promise<StepEnd> {
  const { act = measure, workspace, services, happening, ran } = machine
  const event = { name: happening.name, payload: happening.payload }
  const environment = {
    GITHUB_JOB: job.id,
    GITHUB_RUN_ID: String(happening.runId ?? 1001),
    GITHUB_RUN_ATTEMPT: String(happening.runAttempt ?? 1),
  }
  const result: ActionEnd = await act(workspace, services, {
    actionFile,
    event,
    environment,
    // Whatever path a workflow knows the interpreter of its machine by: on this one it is this.
    inputs: { 'github-token': tokenOf(job.permissions), ...inputs, python: QUICK_PYTHON },
  })
  ran.push(result)
  keepArtifacts(services, happening.runId ?? 1001)
  const ended = result.main.exitCode === 0 ? 'success' : 'failure'
  // Whatever a cancelled step exits with, the runner calls it cancelled.
  return { outcome: result.lastSignal === undefined ? ended : 'cancelled', outputs: result.main.outputs }
}

/** The fake GitHub knows both. */
function tokenOf(permissions: Permissions): string {
  return permissions['pull-requests'] === 'write' ? 'job-token' : 'read-only-token'
}
