// Decides as GitHub does which jobs of a workflow an event starts, in which order, with which inputs and permissions.
import { z } from 'zod'
import { type Contexts, fill, holds, type SoFar } from './expressions.ts'
import { ownPath } from './files.ts'
import { permissionsOf, readOnly } from './permissions.ts'
import {
  type Concurrency,
  type Job,
  type Permissions,
  readWorkflow,
  type Step,
  type Workflow,
} from './workflow-file.ts'

export interface Happening {
  readonly name: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly runId?: number
  readonly runAttempt?: number
}

/** A job that is about to run on a machine, everything but its steps decided. */
export interface JobToRun {
  /** As the run's page shows it: "measure / measure" for the job of a called workflow. */
  readonly name: string
  /** What GITHUB_JOB says. */
  readonly id: string
  readonly runsOn: unknown
  readonly permissions: Permissions
  readonly concurrency: Concurrency | null
  readonly contexts: Contexts
  readonly outputs: Readonly<Record<string, unknown>>
  readonly steps: readonly Step[]
}

export interface JobEnd {
  readonly result: 'success' | 'failure' | 'cancelled'
  readonly outputs: Readonly<Record<string, unknown>>
}

export type RunJob = (job: JobToRun) => Promise<JobEnd>

export type JobRun = Omit<JobToRun, 'outputs'> & JobEnd

export type WorkflowRun =
  | { readonly status: 'not triggered' }
  | { readonly status: 'ran'; readonly concurrency: Concurrency | null; readonly jobs: readonly JobRun[] }

type Needs = Readonly<Record<string, { result: string; outputs: Readonly<Record<string, unknown>> }>>

interface Scope {
  readonly happening: Happening
  readonly runJob: RunJob
  readonly contexts: Contexts
  readonly ofCaller: Permissions | null
  readonly namePrefix: string
  /** In the order in which they ended. */
  readonly done: JobRun[]
}

const DEFAULT_TYPES: Readonly<Record<string, readonly string[]>> = {
  pull_request: ['opened', 'synchronize', 'reopened'],
  pull_request_target: ['opened', 'synchronize', 'reopened'],
}

export async function runWorkflow(path: string, happening: Happening, runJob: RunJob): Promise<WorkflowRun> {
  const workflow = await readWorkflow(path)
  if (!isTriggered(workflow, happening)) return { status: 'not triggered' }
  const contexts = {
    github: githubContext(happening),
    inputs: inputsOf(workflow, 'workflow_dispatch', happening.payload.inputs),
  }
  const done: JobRun[] = []
  await runJobs(workflow, { happening, runJob, contexts, ofCaller: null, namePrefix: '', done })
  return { status: 'ran', concurrency: concurrencyOf(workflow.concurrency, contexts), jobs: done }
}

function isTriggered({ on }: Workflow, { name, payload }: Happening): boolean {
  const trigger = on[name]
  if (!trigger) return false
  const types = trigger.types ?? DEFAULT_TYPES[name]
  if (types && !types.includes(String(payload.action))) return false
  if (!trigger.workflows) return true
  const { workflow } = z.object({ workflow: z.object({ name: z.string() }) }).parse(payload)
  return trigger.workflows.includes(workflow.name)
}

async function runJobs(workflow: Workflow, scope: Scope): Promise<Needs> {
  const ended: Record<string, Needs[string]> = {}
  for (const [id, job] of Object.entries(workflow.jobs)) {
    const needs = Object.fromEntries(job.needs.map((one) => [one, endOf(ended, one)]))
    const contexts = { ...scope.contexts, needs }
    const wanted = holds(job.condition, contexts, soFar(Object.values(needs), scope.done))
    ended[id] = wanted
      ? await runLegs(id, job, workflow, { ...scope, contexts })
      : { result: 'skipped', outputs: {} }
  }
  return ended
}

function endOf(ended: Needs, id: string): Needs[string] {
  const end = ended[id]
  if (!end)
    throw new Error(`job ${id} is needed before its turn; the harness runs jobs in the order of the file`)
  return end
}

/** A job that was cancelled stands for the whole run: nothing here is cancelled alone. */
function soFar(needs: readonly Needs[string][], done: readonly JobRun[]): SoFar {
  if (done.some(({ result }) => result === 'cancelled')) return 'cancelled'
  if (needs.some(({ result }) => result === 'failure')) return 'failure'
  return needs.every(({ result }) => result === 'success') ? 'success' : 'skipped'
}

async function runLegs(id: string, job: Job, workflow: Workflow, scope: Scope): Promise<Needs[string]> {
  const results: string[] = []
  let outputs: Needs[string]['outputs'] = {}
  for (const matrix of legsOf(job.strategy?.matrix ?? {})) {
    const end = await runLeg(id, job, workflow, { ...scope, contexts: { ...scope.contexts, matrix } })
    results.push(end.result)
    outputs = end.outputs
  }
  const result = ['cancelled', 'failure'].find((one) => results.includes(one)) ?? 'success'
  return { result, outputs }
}

function legsOf(matrix: Readonly<Record<string, readonly unknown[]>>): Record<string, unknown>[] {
  return Object.entries(matrix).reduce<Record<string, unknown>[]>(
    (legs, [key, items]) => legs.flatMap((leg) => items.map((item) => ({ ...leg, [key]: item }))),
    [{}],
  )
}

async function runLeg(id: string, job: Job, workflow: Workflow, scope: Scope): Promise<Needs[string]> {
  const { contexts, ofCaller, namePrefix, happening } = scope
  const name = namePrefix + id
  const asked = permissionsOf(job.permissions ?? workflow.permissions, ofCaller, name)
  if (job.uses !== undefined)
    return await callWorkflow(job.uses, fill(job.with, contexts), asked, {
      ...scope,
      namePrefix: `${name} / `,
    })
  const toRun = {
    name,
    id,
    steps: job.steps,
    runsOn: fill(job['runs-on'], contexts),
    permissions: isForkPull(happening) ? readOnly(asked) : asked,
    concurrency: concurrencyOf(job.concurrency, contexts),
    contexts,
  }
  const end = await scope.runJob({ ...toRun, outputs: job.outputs })
  scope.done.push({ ...toRun, ...end })
  return end
}

async function callWorkflow(
  uses: string,
  given: unknown,
  ofCaller: Permissions,
  scope: Scope,
): Promise<Needs[string]> {
  const path = ownPath(uses)
  if (path === null) throw new Error(`${uses} is somebody else's workflow`)
  const called = await readWorkflow(path)
  const contexts = { github: scope.contexts.github, inputs: inputsOf(called, 'workflow_call', given) }
  const jobs = await runJobs(called, { ...scope, contexts, ofCaller })
  const results = Object.values(jobs).map(({ result }) => result)
  const result = ['cancelled', 'failure', 'success'].find((one) => results.includes(one)) ?? 'skipped'
  const values = Object.entries(called.on.workflow_call?.outputs ?? {})
  return {
    result,
    outputs: Object.fromEntries(values.map(([key, { value }]) => [key, fill(value, { ...contexts, jobs })])),
  }
}

function inputsOf({ on }: Workflow, trigger: string, given: unknown): Record<string, unknown> {
  const declared = on[trigger]?.inputs ?? {}
  const defaults = Object.entries(declared).map(([name, input]) => [name, input.default ?? ''])
  return { ...Object.fromEntries(defaults), ...z.record(z.string(), z.unknown()).default({}).parse(given) }
}

function concurrencyOf(concurrency: Concurrency | undefined, contexts: Contexts): Concurrency | null {
  return concurrency ? { ...concurrency, group: String(fill(concurrency.group, contexts)) } : null
}

function githubContext({ name, payload, runId = 1001, runAttempt = 1 }: Happening) {
  const { repository } = z.object({ repository: z.object({ full_name: z.string() }) }).parse(payload)
  return {
    event_name: name,
    event: payload,
    repository: repository.full_name,
    run_id: runId,
    run_attempt: runAttempt,
  }
}

function isForkPull({ name, payload }: Happening): boolean {
  if (name !== 'pull_request') return false
  const head = z
    .object({ head: z.object({ repo: z.object({ fork: z.boolean() }).nullable() }) })
    .parse(payload.pull_request)
  return head.head.repo?.fork ?? true
}
