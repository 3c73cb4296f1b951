import { copyFile, mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { askNccl } from '../../../src/io/machine/nccl-log.ts'
import { aFolder, ROOT } from '../../fixtures/processes/launching.ts'

const logOf = (name: string) => join(ROOT, 'tests', 'fixtures', 'machine', 'nccl', `${name}.txt`)

/** Where NCCL is told to write, for one process. */
const fileOf = ({ NCCL_DEBUG_FILE = '' }: Readonly<Record<string, string>>, pid: number) =>
  NCCL_DEBUG_FILE.replace('%h', 'n1').replace('%p', `${pid}`)

test('what the processes of a launch log is read, and removed', async () => {
  const folder = await aFolder()
  const log = await askNccl(folder, 2, { PATH: '/usr/bin' })
  for (const pid of [1, 2]) await copyFile(logOf('infiniband'), fileOf(log.variables, pid))
  expect(await log.transports()).toEqual({ within: ['nvlink'], between: ['infiniband'] })
  expect(await readdir(folder)).toEqual([])
})

test('nothing is asked of one process, nor where the experiment has a log of its own', async () => {
  for (const [processes, environment] of [
    [1, {}],
    [2, { NCCL_DEBUG: 'WARN' }],
    [2, { NCCL_DEBUG_FILE: '/tmp/nccl' }],
  ] as const) {
    const log = await askNccl(await aFolder(), processes, environment)
    expect([log.variables, await log.transports()]).toEqual([{}, undefined])
  }
})

test('a launch without NCCL says nothing', async () => {
  const log = await askNccl(await aFolder(), 2, {})
  expect(await log.transports()).toBeNull()
})

test('what a training puts there instead of a log is passed over', async () => {
  const log = await askNccl(await aFolder(), 2, {})
  await mkdir(fileOf(log.variables, 1))
  await symlink('/dev/zero', fileOf(log.variables, 2))
  await writeFile(fileOf(log.variables, 3), Buffer.alloc(5 * 1024 * 1024, 'x'))
  await writeFile(fileOf(log.variables, 4), Buffer.from([0xff, 0xfe, 0, 1]))
  await copyFile(logOf('nvlink'), fileOf(log.variables, 5))
  expect(await log.transports()).toEqual({ within: ['nvlink'], between: [] })
})
