// GitHub's side of a rented machine: a runner that takes one job, registered before the machine is there.
import type { RunnerProgram } from '../../cloud/request.ts'
import { ConfigError, RunError } from '../../errors.ts'
import { explainGitHubError, isNotFound } from '../github/api-error.ts'
import { callGitHub, type Repository } from '../github/client.ts'

/** Of a repository without groups of its own. */
const DEFAULT_GROUP = 1

export interface Registered extends RunnerProgram {
  readonly id: number
}

/** The token may administer the repository; it stays in this process. */
export class RunnerRegistry {
  readonly #token: string
  readonly #repository: Repository

  constructor(token: string, repository: Repository) {
    this.#token = token
    this.#repository = repository
  }

  /** The name is its only label: no other job can be meant. */
  async register(name: string): Promise<Registered> {
    try {
      const { data: programs } = await callGitHub(this.#token, ({ rest }) =>
        rest.actions.listRunnerApplicationsForRepo({ ...this.#repository }),
      )
      const program = programs.find(({ os, architecture }) => os === 'linux' && architecture === 'x64')
      if (program?.sha256_checksum === undefined)
        throw new RunError('GitHub names no runner program for Linux with its checksum')
      // Not repeated: a name that is taken is refused.
      const { data } = await callGitHub(
        this.#token,
        ({ rest }) =>
          rest.actions.generateRunnerJitconfigForRepo({
            ...this.#repository,
            name,
            runner_group_id: DEFAULT_GROUP,
            labels: [name],
          }),
        { attempts: 1, firstDelayMs: 0, totalMs: 30_000 },
      )
      return {
        id: data.runner.id,
        url: program.download_url,
        sha256: program.sha256_checksum,
        jitConfig: data.encoded_jit_config,
      }
    } catch (error) {
      if (error instanceof RunError) throw error
      throw new ConfigError(
        `runner-token: ${explainGitHubError(error)}. It needs Administration: write on this repository alone`,
      )
    }
  }

  /** Does it wait for its job, or is at work? */
  async isOnline(id: number): Promise<boolean> {
    try {
      const { data } = await callGitHub(this.#token, ({ rest }) =>
        rest.actions.getSelfHostedRunnerForRepo({ ...this.#repository, runner_id: id }),
      )
      return data.status === 'online'
    } catch (error) {
      // An ephemeral one is removed after its job.
      if (isNotFound(error)) return false
      throw new RunError(`runner: ${explainGitHubError(error)}`)
    }
  }

  /** Without an error: GitHub itself removes one that is never used. */
  async remove(id: number): Promise<void> {
    await callGitHub(this.#token, ({ rest }) =>
      rest.actions.deleteSelfHostedRunnerFromRepo({ ...this.#repository, runner_id: id }),
    ).catch(() => {})
  }
}
