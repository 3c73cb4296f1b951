// Uploading a folder, from an action's process to an artifact service over HTTP.
import { mkdir, mkdtempDisposable, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { artifactName } from '../../../../src/io/github/artifact/artifact.ts'
import { ARTIFACT_LIMITS, chooseArtifactFiles } from '../../../../src/io/github/artifact/artifact-files.ts'
import { MAX_ARCHIVE_BYTES } from '../../../../src/io/github/artifact/download-artifact.ts'
import { UNPACK_LIMITS } from '../../../../src/io/load/unpack-result.ts'
import { type FakeArtifacts, startFakeArtifacts } from '../../../harness/fake-artifacts.ts'
import { type ActionOptions, runAction } from '../../../harness/runner.ts'

const ENTRY = fileURLToPath(new URL('../../../fixtures/actions/artifact.ts', import.meta.url))
const NAME = 'speedproof-smoke-measure-attempt-1'
type Environment = NonNullable<ActionOptions['environment']>
const outcomeText = z.string().transform((text) => z.looseObject({}).parse(JSON.parse(text)))

async function aFolder(
  files: Record<string, string> = { 'result.json': '{}', 'runs/1/log.txt': 'step 1\n' },
) {
  const folder = await mkdtempDisposable(join(tmpdir(), 'speedproof-artifact-'))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder.path, path, '..'), { recursive: true })
    await writeFile(join(folder.path, path), text)
  }
  return { path: folder.path, paths: Object.keys(files), [Symbol.asyncDispose]: () => folder.remove() }
}

interface Upload {
  readonly path: string
  readonly paths: readonly string[]
}

async function upload({ path, paths }: Upload, environment: Environment, timeoutSeconds = 60) {
  const inputs = { folder: path, files: paths.join('\n'), 'timeout-seconds': String(timeoutSeconds) }
  const { main } = await runAction({ main: ENTRY, inputs, environment })
  expect(main).toMatchObject({ exitCode: 0 })
  return { ...main, outcome: outcomeText.parse(main.outputs.outcome) }
}

/** By path, in no order: the archive holds files in the order in which they came from the disk. */
function texts(artifacts: FakeArtifacts) {
  const files = Object.entries(artifacts.uploaded[NAME] ?? {})
  return Object.fromEntries(files.map(([path, content]) => [path, content.toString()]))
}

describe('a folder', () => {
  it('arrives with every file, and its upload address is no secret of the log', async () => {
    await using artifacts = await startFakeArtifacts()
    await using folder = await aFolder()
    const { outcome, lines } = await upload(folder, artifacts.environment)
    expect(outcome).toMatchObject({
      status: 'uploaded',
      url: 'https://github.com/octo-lab/solver/actions/runs/1001/artifacts/42',
      leftOut: [],
    })
    expect(texts(artifacts)).toEqual({ 'result.json': '{}', 'runs/1/log.txt': 'step 1\n' })
    expect(lines.join('\n')).not.toContain('signature-of-the-blob')
  })

  it('arrives without what a link points to', async () => {
    await using artifacts = await startFakeArtifacts()
    await using secret = await aFolder({ 'key.pem': 'secret' })
    await using folder = await aFolder({ 'result.json': '{}' })
    await symlink(join(secret.path, 'key.pem'), join(folder.path, 'log.txt'))
    await symlink(secret.path, join(folder.path, 'runs'))
    const { outcome } = await upload(
      { path: folder.path, paths: [...folder.paths, 'log.txt', 'runs/key.pem'] },
      artifacts.environment,
    )
    expect(texts(artifacts)).toEqual({ 'result.json': '{}' })
    expect(outcome.leftOut).toEqual([
      { path: 'log.txt', reason: '"log.txt" is a symbolic link' },
      { path: 'runs/key.pem', reason: '"runs" is a symbolic link' },
    ])
  })
})

describe('nothing is uploaded, and the reason is given', () => {
  const refusal = (status: number) => ({ kind: 'answer', status, body: { msg: 'no' } }) as const

  it.each([
    ['without a service', { ACTIONS_RESULTS_URL: undefined }, /no artifact service/],
    ['without its token', { ACTIONS_RUNTIME_TOKEN: undefined }, /no artifact service/],
    ['with a broken token', { ACTIONS_RUNTIME_TOKEN: 'x.y.z' }, /token/i],
    ['on GitHub Enterprise Server', { GITHUB_SERVER_URL: 'https://git.lab.example' }, /Enterprise Server/],
    ['when the service is away', { ACTIONS_RESULTS_URL: 'http://127.0.0.1:9' }, /ECONNREFUSED/],
  ])('%s', async (_, environment, reason) => {
    await using artifacts = await startFakeArtifacts()
    await using folder = await aFolder()
    const { outcome } = await upload(folder, { ...artifacts.environment, ...environment })
    expect(outcome).toEqual({ status: 'not-uploaded', reason: expect.stringMatching(reason) })
  })

  it.each([
    ['CreateArtifact', 403, /403/],
    ['CreateArtifact', 500, /gave up after 2 s/],
    ['PutBlob', 403, /./],
    ['FinalizeArtifact', 400, /400/],
  ] as const)('when %s is answered with %i', async (step, status, reason) => {
    await using artifacts = await startFakeArtifacts()
    await using folder = await aFolder()
    artifacts.fail(step, refusal(status))
    // Only what is tried again comes to its limit, however slow the machine is.
    const { outcome } = await upload(folder, artifacts.environment, status === 500 ? 2 : 60)
    expect(outcome).toEqual({ status: 'not-uploaded', reason: expect.stringMatching(reason) })
    expect(artifacts.uploaded).toEqual({})
  })

  it('when the name is taken', async () => {
    await using artifacts = await startFakeArtifacts()
    await using folder = await aFolder()
    await upload(folder, artifacts.environment)
    const { outcome } = await upload(folder, artifacts.environment)
    expect(outcome).toMatchObject({
      status: 'not-uploaded',
      reason: expect.stringMatching(/has this name.* leg /),
    })
  })

  it.each([
    ['is empty', '', []],
    ['does not exist', 'nowhere', ['result.json']],
  ])('when the folder %s', async (_, name, paths) => {
    await using artifacts = await startFakeArtifacts()
    await using folder = await aFolder({})
    const { outcome } = await upload({ path: join(folder.path, name), paths }, artifacts.environment)
    expect(outcome).toEqual({
      status: 'not-uploaded',
      reason: expect.stringContaining('no file to upload'),
    })
  })
})

describe('the choice of files', () => {
  async function reasons(folder: string, paths: readonly string[]) {
    const { leftOut } = await chooseArtifactFiles(folder, paths)
    return leftOut.map(({ path, reason }) => `${path} ${reason}`).toSorted()
  }

  it('leaves out a huge file and keeps the rest', async () => {
    await using folder = await aFolder({ 'a.ckpt': '', 'b.json': '{}' })
    await truncate(join(folder.path, 'a.ckpt'), ARTIFACT_LIMITS.fileBytes + 1) // Sparse: no disk is filled.
    const { files, leftOut } = await chooseArtifactFiles(folder.path, folder.paths)
    expect(files).toEqual([join(folder.path, 'b.json')])
    expect(leftOut).toMatchObject([{ path: 'a.ckpt', reason: expect.stringContaining('more than the') }])
  })

  it('has little room for sources that it holds converted', async () => {
    const run = 'runs/01/trainer/runs/events.out.tfevents'
    await using folder = await aFolder({ [`${run}.1`]: '', [`${run}.2`]: '', [`${run}.3`]: '12' })
    for (const number of [1, 2]) await truncate(join(folder.path, `${run}.${number}`), 15_000_000)
    const { files, leftOut } = await chooseArtifactFiles(folder.path, folder.paths)
    expect(files).toEqual([`${run}.1`, `${run}.3`].map((path) => join(folder.path, path)))
    expect(leftOut).toMatchObject([{ path: `${run}.2`, reason: expect.stringContaining('were converted') }])
  })

  it('keeps to the limit of the whole', async () => {
    await using folder = await aFolder({ a: '123', b: '123', c: '12' })
    const { files } = await chooseArtifactFiles(folder.path, folder.paths, {
      ...ARTIFACT_LIMITS,
      totalBytes: 5,
    })
    expect(files).toEqual([join(folder.path, 'a'), join(folder.path, 'c')])
  })

  it.each([
    ['bytes', { totalBytes: 9 }],
    ['files', { files: 3 }],
  ])('gives the room of all %s to what a verdict is made from, then to what is small', async (_, limits) => {
    const metrics = 'runs/02/trainer/metrics.jsonl'
    await using folder = await aFolder({
      ...{ 'runs/01/checkpoint.pt': '12345', 'runs/01/log.txt': '12' },
      ...{ 'result.json': '{}', [metrics]: '1234' },
    })
    const { files, leftOut } = await chooseArtifactFiles(folder.path, folder.paths, {
      ...ARTIFACT_LIMITS,
      ...limits,
    })
    expect(files).toEqual(['result.json', 'runs/01/log.txt', metrics].map((path) => join(folder.path, path)))
    expect(leftOut).toMatchObject([{ path: 'runs/01/checkpoint.pt' }])
  })

  it('is never more than a report reads', () => {
    const perFile = 1024 // Its name twice, and its sizes.
    const { files, totalBytes } = ARTIFACT_LIMITS
    expect(totalBytes + files * perFile).toBeLessThan(MAX_ARCHIVE_BYTES)
    expect(files).toBeLessThanOrEqual(UNPACK_LIMITS.entries)
  })

  it('leaves out what lies outside, does not exist, or goes through a link', async () => {
    await using outside = await aFolder({ x: '' })
    await using folder = await aFolder({ 'real/x': '' })
    await symlink(outside.path, join(folder.path, 'linked'))
    expect(await reasons(folder.path, ['real/x', '../x', 'none', 'linked/x'])).toEqual([
      expect.stringContaining('../x lies outside'),
      'linked/x "linked" is a symbolic link',
      expect.stringContaining('none cannot be read: ENOENT'),
    ])
  })

  it('leaves out names that the service or a report refuses, instead of losing the artifact', async () => {
    await using folder = await aFolder({ 'a:b': '', 'c\\d': '', ok: '' })
    expect(await reasons(folder.path, folder.paths)).toEqual([
      'a:b has a name that artifacts do not allow',
      'c\\d has a name that artifacts do not allow',
    ])
  })
})

describe('the name of an artifact', () => {
  it('has the leg of the matrix and the attempt', () => {
    const name = artifactName({ experiment: 'two-task', job: 'measure', attempt: 2, leg: 'fp8-8x.b=1' })
    expect(name).toBe('speedproof-two-task-measure-fp8-8x.b=1-attempt-2')
  })

  it('of a job with another id ends with it, as long as there is no leg', () => {
    const name = artifactName({ experiment: 'two-task', job: 'on_gpus', attempt: 1 })
    expect(name).toBe('speedproof-two-task-on_gpus-attempt-1')
  })

  it('has a hash where a character that artifacts do not allow is replaced', () => {
    const name = artifactName({ experiment: 'smoke', job: 'measure', attempt: 2, leg: 'H100: 8x/fp8' })
    expect(name).toBe('speedproof-smoke-measure-H100-8x-fp8-678835fa-attempt-2')
  })

  it('is another one for other parts', () => {
    const words = ['a', 'measure', 'a-b', 'a-measure', 'measure-a', 'measure-measure']
    const legs = ['', ...words, '-', 'lr 1', 'lr/1', 'lr-1']
    const names = words.flatMap((experiment) =>
      [...words, 'b', '_'].flatMap((job) =>
        legs.map((leg) => artifactName({ experiment, job, leg, attempt: 1 })),
      ),
    )
    expect(new Set(names).size).toBe(6 * 8 * legs.length)
  })
})
