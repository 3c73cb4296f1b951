// A tag makes an attested draft, a published release moves the short tags and publishes the packages of the draft.
import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { aFolder, ROOT } from '../fixtures/processes/launching.ts'
import { REPOSITORY } from '../harness/events.ts'
import { readOwnFile } from '../harness/workflow/files.ts'
import { type Happening, type JobEnd, type JobToRun, runWorkflow } from '../harness/workflow/run-workflow.ts'

const RELEASE = '.github/workflows/release.yml'
const run = promisify(execFile)

const repository = { full_name: REPOSITORY }
const tagged: Happening = { name: 'push', payload: { repository, ref: 'refs/tags/v0.1.0' } }
const published = (release: object): Happening => ({
  name: 'release',
  payload: {
    repository,
    action: 'published',
    release: { tag_name: 'v0.1.2', prerelease: false, ...release },
  },
})

/** Every job ends with `result`. */
async function jobsOf(happening: Happening, result: JobEnd['result'] = 'success'): Promise<JobToRun[]> {
  const jobs: JobToRun[] = []
  await runWorkflow(RELEASE, happening, async (job) => {
    jobs.push(job)
    return { result, outputs: {} }
  })
  return jobs
}

function stepsOf(job: JobToRun | undefined): (string | undefined)[] | undefined {
  return job?.steps.map(({ uses, run: script }) => uses?.replace(/@.*/, '') ?? script)
}

describe('a tag', () => {
  it('builds dist again with a token that only reads, and then attests that of the commit and makes a draft', async () => {
    const [build, draft, ...others] = await jobsOf(tagged)
    expect(others).toEqual([])
    expect(build?.permissions).toEqual({ contents: 'read' })
    expect(stepsOf(build)).toEqual([
      'actions/checkout',
      'actions/setup-node',
      'npm ci --ignore-scripts',
      'npm run check:dist',
      expect.stringContaining('npm pack --pack-destination packages'),
      expect.stringContaining('-m build --no-isolation --outdir packages python'),
      'actions/upload-artifact',
      expect.stringContaining('node scripts/release-notes.ts "$TAG"'),
    ])
    expect(draft?.permissions).toEqual({ attestations: 'write', contents: 'write', 'id-token': 'write' })
    // Whatever is added here runs beside a token that signs.
    expect(stepsOf(draft)).toEqual([
      'actions/checkout',
      'actions/download-artifact',
      'actions/attest',
      expect.stringMatching(
        /^gh release create "\$TAG" packages\/\* --draft --verify-tag .* --notes "\$NOTES"$/,
      ),
    ])
  })

  it('whose dist is not what the build makes gets no draft', async () => {
    expect((await jobsOf(tagged, 'failure')).map(({ id }) => id)).toEqual(['build'])
  })

  it('hands the notes on as they are', async () => {
    const [build] = await jobsOf(tagged)
    const folder = await aFolder()
    const notes = '### Added\n\n- `$(id)` and "quotes", 100%\n'
    await writeFile(join(folder, 'node'), `#!/bin/sh\ncat ${folder}/notes`)
    await writeFile(join(folder, 'notes'), notes)
    await chmod(join(folder, 'node'), 0o755)
    const env = {
      PATH: `${folder}:${process.env.PATH}`,
      GITHUB_OUTPUT: join(folder, 'output'),
      TAG: 'v0.1.0',
    }
    await run('bash', ['-e', '-c', build?.steps.at(-1)?.run ?? ''], { env })
    expect(await readFile(env.GITHUB_OUTPUT, 'utf8')).toBe(`notes<<END_OF_NOTES\n${notes}END_OF_NOTES\n`)
  })

  it('that is not the version of the package makes none', async () => {
    const notes = run(process.execPath, ['scripts/release-notes.ts', 'v9.9.9'], { cwd: ROOT })
    await expect(notes).rejects.toThrow('tag: got "v9.9.9", expected v')
  })

  it('where the packages have two versions makes none', async () => {
    const folder = await aFolder()
    await mkdir(join(folder, 'python'))
    for (const name of ['package.json', 'CHANGELOG.md']) await cp(join(ROOT, name), join(folder, name))
    await writeFile(join(folder, 'python', 'pyproject.toml'), '[project]\nversion = "9.9.9"\n')
    const { version } = z.object({ version: z.string() }).parse(JSON.parse(readOwnFile('package.json')))
    const notes = run(process.execPath, [join(ROOT, 'scripts/release-notes.ts'), `v${version}`], {
      cwd: folder,
    })
    await expect(notes).rejects.toThrow(`python/pyproject.toml: got version "9.9.9", expected ${version}`)
  })
})

describe('a published release', () => {
  /** Runs the one script of the job with a `gh` that knows one newest release and one existing tag. */
  async function callsOfGh(newest: string): Promise<string[]> {
    const job = (await jobsOf(published({}))).find(({ id }) => id === 'tags')
    const folder = await aFolder()
    const gh = `#!/bin/sh
echo "$*" >> ${folder}/calls
case "$*" in
  *--jq\\ .sha) echo abc ;;
  *--jq\\ .tagName) echo ${newest} ;;
  *PATCH*tags/v0.1\\ *) exit 1 ;;
esac`
    await writeFile(join(folder, 'gh'), gh)
    await chmod(join(folder, 'gh'), 0o755)
    const env = { PATH: `${folder}:${process.env.PATH}`, GITHUB_REPOSITORY: REPOSITORY, TAG: 'v0.1.2' }
    await run('bash', ['-e', '-c', job?.steps[0]?.run ?? ''], { env })
    const calls = (await readFile(join(folder, 'calls'), 'utf8')).trim().split('\n')
    return calls
      .filter((call) => call.includes('--method'))
      .map((call) => call.replaceAll(`repos/${REPOSITORY}/git/`, ''))
  }

  it('moves both tags, and makes the one that is not there', async () => {
    expect(await callsOfGh('v0.1.2')).toEqual([
      'api --method PATCH refs/tags/v0.1 --raw-field sha=abc --field force=true',
      'api --method POST refs --raw-field ref=refs/tags/v0.1 --raw-field sha=abc',
      'api --method PATCH refs/tags/v0 --raw-field sha=abc --field force=true',
    ])
  })

  it('of an older minor version leaves the major one where it is', async () => {
    expect((await callsOfGh('v0.2.0')).filter((call) => /tags\/v0 /.test(call))).toEqual([])
  })

  it('that is a preview moves and publishes nothing', async () => {
    expect(await jobsOf(published({ prerelease: true }))).toEqual([])
  })
})

describe.each([
  ['npm', ['speedproof-0.1.2.tgz']],
  ['pypi', ['speedproof-0.1.2-py3-none-any.whl', 'speedproof-0.1.2.tar.gz']],
])('the %s job of a published release', (id, packages) => {
  const jobOf = async () => (await jobsOf(published({}))).find((job) => job.id === id)

  /** `gh` keeps its words, and downloads what its patterns name; it refuses to verify what `forged` names. */
  async function fetched(forged: string): Promise<{ calls: string[]; exitCode: number }> {
    const folder = await aFolder()
    const script = (await jobOf())?.steps.find((step) => step.run?.includes('gh release'))?.run ?? ''
    const gh = `#!/bin/bash
echo "$*" >> calls
for word; do
  if [ "$before" = --pattern ]; then mkdir -p packages; touch "packages/$word"; fi
  before=$word
done
if [ "$1 $3" = "attestation packages/${forged}" ]; then exit 1; fi
`
    await writeFile(join(folder, 'gh'), gh)
    await chmod(join(folder, 'gh'), 0o755)
    const env = { PATH: `${folder}:${process.env.PATH}`, GITHUB_REPOSITORY: REPOSITORY, TAG: 'v0.1.2' }
    const ran = run('bash', ['-e', '-c', script], { env, cwd: folder })
    const exitCode = await ran.then(
      () => 0,
      (error: { code: number }) => error.code,
    )
    return { calls: (await readFile(join(folder, 'calls'), 'utf8')).trim().split('\n'), exitCode }
  }

  it('has an environment and a token of its own, and no code of the repository', async () => {
    const jobs = z
      .record(z.string(), z.looseObject({ environment: z.string().optional() }))
      .parse(z.looseObject({ jobs: z.unknown() }).parse(parse(readOwnFile(RELEASE))).jobs)
    expect(jobs[id]?.environment).toBe(id)
    const job = await jobOf()
    expect(job?.permissions).toEqual({ attestations: 'read', contents: 'read', 'id-token': 'write' })
    expect(stepsOf(job)).not.toContain('actions/checkout')
    expect(job?.steps.at(-1)).toMatchObject(
      id === 'npm'
        ? { run: expect.stringMatching(/^npm publish .*--provenance/) }
        : {
            uses: expect.stringMatching(/^pypa\/gh-action-pypi-publish@/),
            with: { 'packages-dir': 'packages' },
          },
    )
  })

  it('takes the packages of the draft, each of which this workflow made for that tag', async () => {
    const { calls, exitCode } = await fetched('')
    expect(exitCode).toBe(0)
    const verified = calls.filter((call) => call.startsWith('attestation verify'))
    expect(verified).toEqual(
      packages.map((name) =>
        expect.stringMatching(
          new RegExp(`packages/${name} .*--source-ref refs/tags/v0\\.1\\.2 .*/workflows/release\\.yml$`),
        ),
      ),
    )
  })

  it.each(packages)('publishes nothing when %s was made elsewhere', async (name) => {
    expect((await fetched(name)).exitCode).toBe(1)
  })
})

it('no pull request starts the workflow', async () => {
  for (const name of ['pull_request', 'pull_request_target'])
    expect(await jobsOf({ name, payload: { repository, action: 'opened' } })).toEqual([])
})
