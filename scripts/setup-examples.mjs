// Makes .venv-examples: the libraries that the examples import, with the torch of .venv. `npm run test:examples` calls it.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const FOLDER = join(root, '.venv-examples')
const LOCK = 'examples/requirements.lock'
const STAMP = join(FOLDER, '.speedproof-setup')

const digest = createHash('sha256')
  .update(readFileSync(join(root, LOCK)))
  .digest('hex')
if (!existsSync(STAMP) || readFileSync(STAMP, 'utf8') !== digest) {
  console.log('set-up: installing the libraries of the examples (once; this takes seconds)')
  rmSync(FOLDER, { recursive: true, force: true })
  run('.venv/bin/uv', ['venv', '--quiet', '--python', '.venv/bin/python', FOLDER])
  const python = join(FOLDER, 'bin/python')
  run('.venv/bin/uv', [
    'pip',
    'install',
    '--quiet',
    '--python',
    python,
    '--require-hashes',
    '--no-deps',
    '-r',
    LOCK,
  ])
  writeFileSync(join(sitePackages(FOLDER), 'torch-of-tests.pth'), `${sitePackages(join(root, '.venv'))}\n`)
  writeFileSync(STAMP, digest)
}

function sitePackages(environment) {
  const lib = join(environment, 'lib')
  const [version] = readdirSync(lib).filter((name) => name.startsWith('python3'))
  return join(lib, version, 'site-packages')
}

function run(command, arguments_) {
  const { status, error } = spawnSync(command, arguments_, { cwd: root, stdio: 'inherit' })
  if (error) throw new Error(`${command} cannot be started: ${error.message}`)
  if (status !== 0) throw new Error(`${command} ${arguments_.join(' ')} ended with ${status}`)
}
