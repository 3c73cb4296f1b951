// Makes .venv-dstack: a dstack server of its own version of everything. `npm run test:dstack` calls it.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const FOLDER = join(root, '.venv-dstack')
const LOCK = 'tests/dstack/requirements.lock'
const STAMP = join(FOLDER, '.speedproof-setup')

const digest = createHash('sha256')
  .update(readFileSync(join(root, LOCK)))
  .digest('hex')
if (!existsSync(STAMP) || readFileSync(STAMP, 'utf8') !== digest) {
  console.log('set-up: installing a dstack server (once; this takes seconds)')
  rmSync(FOLDER, { recursive: true, force: true })
  run('.venv/bin/uv', ['venv', '--quiet', '--python', '.venv/bin/python', FOLDER])
  const python = ['--python', join(FOLDER, 'bin/python')]
  run('.venv/bin/uv', ['pip', 'install', '--quiet', ...python, '--require-hashes', '--no-deps', '-r', LOCK])
  writeFileSync(STAMP, digest)
}

function run(command, words) {
  const { status, error } = spawnSync(command, words, { cwd: root, stdio: 'inherit' })
  if (error) throw new Error(`${command} cannot be started: ${error.message}`)
  if (status !== 0) throw new Error(`${command} ${words.join(' ')} ended with ${status}`)
}
