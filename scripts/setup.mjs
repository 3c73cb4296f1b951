// Installs what is missing and nothing else: Node packages, compiled sources, the Python environment.
// Plain JavaScript without packages, since it runs before there are any; npm start and npm test call it first.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const VENV_PYTHON = join(root, '.venv', 'bin', 'python')
const PYTHON_CANDIDATES = ['python3', 'python3.13', 'python3.12', 'python3.11', 'python3.10']

try {
  requireNode()
  setUp('Node packages', ['package-lock.json'], 'node_modules', installNodePackages)
  run('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json'])
  chmodSync(join(root, 'lib', 'cli.js'), 0o755) // npx does so once for each place of a clone, and not for the next one there
  setUp('Python environment', ['requirements.lock', 'requirements-uv.lock'], '.venv', installPythonPackages)
} catch (error) {
  console.error(`set-up failed: ${error.message}`)
  process.exit(2)
}

/** Does nothing if the folder was completed from the same locks; a half-made one has no stamp and is made again. */
function setUp(what, locks, folder, install) {
  const hash = createHash('sha256')
  for (const lock of locks) hash.update(readFileSync(join(root, lock)))
  const digest = hash.digest('hex')
  const stamp = join(root, folder, '.speedproof-setup')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return
  console.log(`set-up: installing ${what} (once; this can take minutes)`)
  install()
  writeFileSync(stamp, digest)
}

function requireNode() {
  const major = Number(process.versions.node.split('.', 1)[0])
  if (major < 20) throw new Error(`Node ${process.versions.node} is too old, expected 20 or newer`)
}

/** No package needs its scripts. Not in .npmrc, where the same word would turn off our own `pretest` too. */
function installNodePackages() {
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'])
}

/** uv comes from the package index too; it installs the lock several times faster than pip. */
function installPythonPackages() {
  const python = findPython()
  rmSync(join(root, '.venv'), { recursive: true, force: true })
  run(python, ['-m', 'venv', '.venv'])
  run(VENV_PYTHON, [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--require-hashes',
    '-r',
    'requirements-uv.lock',
  ])
  run('.venv/bin/uv', [
    'pip',
    'install',
    '--quiet',
    '--python',
    VENV_PYTHON,
    '--require-hashes',
    '-r',
    'requirements.lock',
  ])
}

function findPython() {
  const probe = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))'
  const found = PYTHON_CANDIDATES.find((python) => spawnSync(python, ['-c', probe]).status === 0)
  if (found === undefined) {
    throw new Error(
      `no Python >= 3.10 with venv among ${PYTHON_CANDIDATES.join(', ')}; install one (Debian: python3-venv)`,
    )
  }
  return found
}

function run(command, arguments_) {
  const { status, error } = spawnSync(command, arguments_, { cwd: root, stdio: 'inherit' })
  if (error) throw new Error(`${command} cannot be started: ${error.message}`)
  if (status !== 0) throw new Error(`${command} ${arguments_.join(' ')} ended with ${status}`)
}
