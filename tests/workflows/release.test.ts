// A tag makes an attested draft, a published release moves the short tags, and neither does the other's work.
import { execFile } from 'node:child_process'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { aFolder, ROOT } from '../fixtures/processes/launching.ts'
import { REPOSITORY } from '../harness/events.ts'
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
      expect.stringContaining('node scripts/release-notes.ts "$TAG"'),
    ])
    expect(draft?.permissions).toEqual({ attestations: 'write', contents: 'write', 'id-token': 'write' })
    // Whatever is added here runs beside a token that signs.
    expect(stepsOf(draft)).toEqual([
      'actions/checkout',
      'actions/attest',
      expect.stringMatching(/^gh release create "\$TAG" --draft --verify-tag .* --notes "\$NOTES"$/),
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
})

describe('a published release', () => {
  /** Runs the one script of the job with a `gh` that knows one newest release and one existing tag. */
  async function callsOfGh(newest: string): Promise<string[]> {
    const [job] = await jobsOf(published({}))
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

  it('that is a preview moves nothing', async () => {
    expect(await jobsOf(published({ prerelease: true }))).toEqual([])
  })
})
