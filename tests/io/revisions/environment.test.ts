// An environment of a lock is made once, whole, or an error that says what to do.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { runShort } from '../../../src/io/process/short-command.ts'
import { type EnvironmentRequest, environmentFor } from '../../../src/io/revisions/environment.ts'
import { aWheel } from '../../fixtures/experiments/a-wheel.ts'
import { aFolder, notCancelled, PYTHON } from '../../fixtures/processes/launching.ts'

const ENVIRONMENT = { PATH: process.env.PATH ?? '' }

async function aRequest(lock: (folder: string) => string): Promise<EnvironmentRequest> {
  const workingDirectory = await aFolder()
  const text = lock(workingDirectory)
  await writeFile(join(workingDirectory, 'requirements.lock'), text)
  return {
    folder: join(workingDirectory, 'environments'),
    lock: { sha256: createHash('sha256').update(text).digest('hex'), packages: {} },
    lockFile: 'requirements.lock',
    workingDirectory,
    python: PYTHON,
    environment: ENVIRONMENT,
    cancelled: notCancelled(),
    onInstall: () => {},
  }
}

it('has what the lock names, is made once, and again where an installation was interrupted', async () => {
  const onInstall = vi.fn()
  const request = { ...(await aRequest((folder) => aWheel(folder, '1.0'))), onInstall }
  const python = await environmentFor(request)
  const show = [python, '-c', 'import tiny; print(tiny.VERSION)']
  const shown = await runShort(show, request.workingDirectory, ENVIRONMENT, notCancelled())
  expect(shown).toMatchObject({ exitCode: 0, stdout: '1.0\n' })
  expect(await environmentFor(request)).toBe(python)
  expect(onInstall).toHaveBeenCalledTimes(1)

  const environment = join(python, '..', '..')
  await rm(join(environment, '.speedproof-complete'))
  await writeFile(join(environment, 'half'), '')
  await environmentFor(request)
  expect(existsSync(join(environment, 'half'))).toBe(false)
})

it('names lock, command and last lines when that fails, and leaves no half of it', async () => {
  const request = await aRequest(() => '--no-index\nabsent-package==1.0\n')
  await expect(environmentFor(request)).rejects.toThrow(
    /^launch\.requirements: no environment can be made from \S+\/requirements\.lock\. .*: \S+ -m pip install .* -r requirements\.lock ended with 1:\n(│ .*\n)*│ .*absent-package==1\.0/,
  )
  expect(await readdir(request.folder)).toEqual([])
})

it('a cancel leaves no half of it', async () => {
  const cancel = new AbortController()
  const request = await aRequest((folder) => aWheel(folder, '1.0'))
  const making = environmentFor({ ...request, cancelled: cancel.signal })
  const isBegun = async () => (await readdir(request.folder).catch(() => [])).length > 0
  await Promise.race([making, vi.waitUntil(isBegun, { timeout: 60_000, interval: 5 })])
  cancel.abort()
  await expect(making).rejects.toThrow('cancelled')
  expect(await readdir(request.folder)).toEqual([])
})
