// Checks workflows and examples with actionlint and zizmor; what they may not report stands in their configs.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makePlainCopy } from './plain-copy.ts'
import { goTool, zizmor } from './workflow-tools.ts'

const ROOT = join(import.meta.dirname, '..')
const copy = mkdtempSync(join(tmpdir(), 'speedproof-workflows-'))

try {
  makePlainCopy(ROOT, copy)
  const passed = [
    passes(goTool('actionlint'), [], copy),
    // The originals: zizmor knows `$/`. Without the network, as everywhere.
    passes(
      zizmor(ROOT),
      ['--offline', '--config', '.github/zizmor.yml', '--no-progress', '--quiet', ...checkedByZizmor()],
      ROOT,
    ),
  ]
  process.exitCode = passed.every(Boolean) ? 0 : 1
} finally {
  rmSync(copy, { recursive: true, force: true })
}

/** It finds workflows and actions by itself, but no examples. */
function checkedByZizmor(): string[] {
  const examples = readdirSync(join(ROOT, 'examples', 'workflows'))
  return ['.', ...examples.map((name) => join('examples', 'workflows', name))]
}

function passes(program: string, words: readonly string[], folder: string): boolean {
  const { status, error } = spawnSync(program, words, { cwd: folder, stdio: 'inherit' })
  if (error) throw error
  return status === 0
}
