// Installs the pinned programs that look at workflows and run them, once, into the user's cache folder.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const GO_TOOLS = {
  /** Runs workflow files without GitHub. */
  act: { package: 'github.com/nektos/act', version: 'v0.2.89' },
  /** Checks workflow files, shell scripts in them too where shellcheck is installed. */
  actionlint: { package: 'github.com/rhysd/actionlint/cmd/actionlint', version: 'v1.7.12' },
} as const

const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'speedproof', 'tools')
const ZIZMOR_LOCK = 'requirements-zizmor.lock'
const ZIZMOR_VERSION = '1.32.0'

/** The path of the program. Go checks what it downloads against its public checksum database. */
export function goTool(name: keyof typeof GO_TOOLS): string {
  const tool = GO_TOOLS[name]
  const folder = join(CACHE, `${name}-${tool.version}`)
  const program = join(folder, name)
  if (existsSync(program)) return program
  console.log(`installing ${name} ${tool.version} into ${folder} (once; this takes about a minute)`)
  mkdirSync(folder, { recursive: true })
  run('go', ['install', `${tool.package}@${tool.version}`], { GOBIN: folder })
  return program
}

/** zizmor looks for what is insecure in workflows. Its lock has the hashes. */
export function zizmor(root: string): string {
  const folder = join(CACHE, `zizmor-${ZIZMOR_VERSION}`)
  const program = join(folder, 'bin', 'zizmor')
  if (existsSync(program)) return program
  const uv = join(root, '.venv', 'bin', 'uv')
  const options = [
    '--quiet',
    '--target',
    folder,
    '--require-hashes',
    '--requirement',
    join(root, ZIZMOR_LOCK),
  ]
  run(uv, ['pip', 'install', ...options], {})
  return program
}

function run(command: string, words: readonly string[], environment: Readonly<Record<string, string>>): void {
  const { status, error } = spawnSync(command, words, {
    env: { ...process.env, ...environment },
    stdio: 'inherit',
  })
  if (error) {
    const remedy = command === 'go' ? 'install Go 1.25 or newer (go.dev/dl)' : 'run npm run setup'
    throw new Error(`${command} cannot be started (${error.message}): ${remedy}`)
  }
  if (status !== 0) throw new Error(`${command} ${words.join(' ')} ended with ${status}`)
}
