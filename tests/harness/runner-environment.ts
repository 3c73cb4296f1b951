// The environment that GitHub's runner gives to a step, with the event file.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readDeclaredDefaults } from './action-file.ts'
import type { ActionOptions } from './runner.ts'

export async function runnerEnvironment(options: ActionOptions, temp: string, workspace: string) {
  const { event = { name: 'workflow_dispatch', payload: { inputs: {} } } } = options
  const eventPath = join(temp, 'event.json')
  await writeFile(
    eventPath,
    typeof event.payload === 'string' ? event.payload : JSON.stringify(event.payload),
  )
  const inputs = { ...(await readDeclaredDefaults(options.actionFile)), ...options.inputs }
  return {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    LANG: 'C.UTF-8',
    CI: 'true',
    GITHUB_ACTIONS: 'true',
    GITHUB_WORKSPACE: workspace,
    GITHUB_REPOSITORY: 'octo-lab/solver',
    GITHUB_RUN_ID: '1001',
    GITHUB_RUN_ATTEMPT: '1',
    GITHUB_RUN_NUMBER: '7',
    GITHUB_JOB: 'measure',
    GITHUB_SHA: 'f'.repeat(40),
    GITHUB_REF: 'refs/heads/main',
    GITHUB_SERVER_URL: 'https://github.com',
    // Nothing of a test may reach the real service.
    GITHUB_API_URL: 'http://127.0.0.1:9',
    GITHUB_EVENT_NAME: event.name,
    GITHUB_EVENT_PATH: eventPath,
    RUNNER_TEMP: temp,
    // Tests side by side do not wait for each other's experiments.
    SPEEDPROOF_LOCK_FOLDER: temp,
    RUNNER_OS: 'Linux',
    RUNNER_ARCH: 'X64',
    RUNNER_NAME: 'test-runner',
    RUNNER_TRACKING_ID: 'github_test-runner',
    ...event.variables,
    ...Object.fromEntries(Object.entries(inputs).map(([name, text]) => [inputVariable(name), text])),
    ...options.environment,
  }
}

/** Only blanks are replaced: min-speedup becomes INPUT_MIN-SPEEDUP. */
function inputVariable(name: string): string {
  return `INPUT_${name.replaceAll(' ', '_').toUpperCase()}`
}
