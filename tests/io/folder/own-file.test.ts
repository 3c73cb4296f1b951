// A training may put anything where Speedproof's own files will be: nothing waits for it, nothing is written through it.
import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync } from 'node:fs'
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { RunError } from '../../../src/errors.ts'
import { isThere } from '../../../src/io/folder/own-file.ts'
import { Workspace } from '../../../src/io/folder/workspace.ts'
import { storeNoiseFloor } from '../../../src/io/load/noise-floors.ts'
import { lockFiles } from '../../../src/io/machine/lock.ts'
import { startSampler } from '../../../src/io/machine/sampler.ts'
import { findRootCause } from '../../../src/io/process/log/root-cause.ts'
import { supervise } from '../../../src/io/process/supervisor.ts'
import { aPlannedRun, aResult } from '../../fixtures/builders.ts'
import { aNoiseFloor } from '../../fixtures/noise-floors.ts'
import { aFolder, aLaunch, notCancelled, PYTHON } from '../../fixtures/processes/launching.ts'

const PRECIOUS = 'a file of somebody else'

interface Kind {
  readonly name: string
  /** `elsewhere`: a folder with one file, `precious`. */
  readonly plant: (path: string, elsewhere: string) => Promise<void>
}

const KINDS: readonly Kind[] = [
  {
    name: 'a pipe',
    plant: async (path) => {
      execFileSync('mkfifo', [path])
    },
  },
  { name: 'a folder', plant: async (path) => void (await mkdir(join(path, 'full'), { recursive: true })) },
  { name: 'a link to a file', plant: (path, elsewhere) => symlink(join(elsewhere, 'precious'), path) },
  { name: 'a link to a folder', plant: (path, elsewhere) => symlink(elsewhere, path) },
  { name: 'a link to nothing', plant: (path, elsewhere) => symlink(join(elsewhere, 'nothing'), path) },
]

/** Runs `work` with the kind planted in a path of the folder, and sees that nothing elsewhere has changed. */
async function withPlanted<T>(kind: Kind, path: string, work: () => Promise<T>): Promise<T> {
  const elsewhere = await aFolder()
  await writeFile(join(elsewhere, 'precious'), PRECIOUS)
  await mkdir(dirname(path), { recursive: true })
  await rm(path, { recursive: true, force: true })
  await kind.plant(path, elsewhere)
  try {
    return await work()
  } finally {
    expect(readdirSync(elsewhere)).toEqual(['precious'])
    expect(await readFile(join(elsewhere, 'precious'), 'utf8')).toBe(PRECIOUS)
  }
}

const aWorkspace = async () => await Workspace.fresh(join(await aFolder(), 'out'))

describe.each(KINDS)('$name', (kind) => {
  test.each(['result.json', 'report.md'])('in the place of %s is replaced', async (name) => {
    const workspace = await aWorkspace()
    await withPlanted(kind, join(workspace.directory, name), async () => workspace.save(await aResult()))
    expect(JSON.parse(await readFile(workspace.resultFile, 'utf8'))).toMatchObject({
      verdict: expect.anything(),
    })
    expect(lstatSync(workspace.reportFile).isFile()).toBe(true)
  })

  test.each(['ladder.json.part', 'ladder.md.part'])('by the name of %s stays as it is', async (name) => {
    const workspace = await aWorkspace()
    const path = join(workspace.directory, name)
    await withPlanted(kind, path, () => workspace.saveLadder('{}\n', '# ladder\n'))
    expect(await readFile(workspace.ladderFile, 'utf8')).toBe('{}\n')
    expect(isThere(path)).toBe(true)
    expect(readdirSync(workspace.directory).filter((one) => one.endsWith('.part'))).toEqual([name])
  })

  test("in the place of a later run's folder ends the experiment", async () => {
    const workspace = await aWorkspace()
    const planned = aPlannedRun()
    const { directory } = workspace.runFiles(planned)
    const prepared = withPlanted(kind, directory, () => workspace.prepareRun(planned, { file: null }))
    await expect(prepared).rejects.toThrow(RunError)
    await expect(prepared).rejects.toThrow('is there before its training starts')
  })

  test.each(['log.txt', 'machine.jsonl', 'config.json'])("as a later run's %s ends it too", async (name) => {
    const workspace = await aWorkspace()
    const planned = aPlannedRun()
    const path = join(workspace.runFiles(planned).directory, name)
    const prepare = () => workspace.prepareRun(planned, { file: { name: 'config.json', content: '{}' } })
    await expect(withPlanted(kind, path, prepare)).rejects.toThrow('is there before its training starts')
  })

  test('in the place of the log lets nothing start', async () => {
    const launch = await aLaunch({ command: ['true'] })
    const start = () => supervise(launch, { cancelled: notCancelled() })
    const end = await withPlanted(kind, launch.logFile, start)
    expect(end).toMatchObject({ status: 'not-started', message: expect.stringContaining('EEXIST') })
  })

  test("in the place of the machine's file leaves the machine unseen", async () => {
    const file = join(await aFolder(), 'machine.jsonl')
    const context = { environment: {}, workingDirectory: dirname(file), cancelled: notCancelled() }
    await withPlanted(kind, file, async () => {
      const sampler = await startSampler({ gpus: [], file, python: PYTHON, context })
      await sampler.stop()
    })
    expect(lstatSync(file).isFile()).toBe(false)
  })

  test('in the place of the log after a launch is not read', async () => {
    const folder = await aFolder()
    const logFile = join(folder, 'log.txt')
    const find = () =>
      findRootCause({ logFile, errorDirectory: null }, { status: 'exited', exitCode: 1, wallSeconds: 1 })
    expect(JSON.stringify(await withPlanted(kind, logFile, find))).not.toContain(PRECIOUS)
  })

  test('in the place of the mark, the runs and the folder of earlier results is not used', async () => {
    const workspace = await aWorkspace()
    const { directory } = workspace
    await withPlanted(
      kind,
      join(directory, '.speedproof'),
      async () => void (await Workspace.fresh(directory)),
    )
    await withPlanted(kind, join(directory, 'runs'), async () => void (await Workspace.fresh(directory)))
    expect(lstatSync(join(directory, 'runs')).isDirectory()).toBe(true)
    expect(lstatSync(join(directory, '.speedproof')).isFile()).toBe(true)
  })

  test('in the place of a noise floor or its first half is replaced', async () => {
    const folder = await aFolder()
    const file = await storeNoiseFloor(folder, aNoiseFloor())
    for (const path of [file, `${file}.part`]) {
      await withPlanted(kind, path, () => storeNoiseFloor(folder, aNoiseFloor()))
      expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ key: expect.anything() })
    }
  })

  test('in the place of a lock is refused', async () => {
    const path = join(await aFolder(), '.speedproof.lock')
    const cannotLock = (reason: string) => new RunError(reason)
    const request = { files: [path], python: PYTHON, limitMinutes: 1, cancelled: notCancelled(), cannotLock }
    const locked = withPlanted(kind, path, () => lockFiles({ ...request, onWait: () => {} }))
    await expect(locked).rejects.toThrow(RunError)
  })
})
