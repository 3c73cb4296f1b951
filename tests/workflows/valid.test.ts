// Every workflow, ours and of the examples, is what GitHub takes, and keeps the rules that our security rests on.
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { diagnose } from '../harness/workflow/diagnose.ts'
import { EXAMPLES, ownPath, readOwnFile, WORKFLOWS } from '../harness/workflow/files.ts'

const ACTIONS = ['action.yml', '.github/actions/speedproof/action.yml', '.github/actions/cloud/action.yml']
const REUSABLE = ['.github/workflows/measure.yml', '.github/workflows/report.yml']

const { version } = z.object({ version: z.string() }).parse(JSON.parse(readOwnFile('package.json')))
const usesIn = (path: string) =>
  Array.from(readOwnFile(path).matchAll(/^[ -]*uses: (\S+)(?: # (\S+))?$/gm), ([, uses = '', tag = '']) => ({
    uses,
    tag,
  }))

describe.each([...WORKFLOWS, ...EXAMPLES, ...ACTIONS])('%s', (path) => {
  it("passes GitHub's language service", async () => {
    expect(await diagnose(path)).toEqual([])
  })
})

describe.each([...WORKFLOWS, ...EXAMPLES])('%s', (path) => {
  const workflow = z.looseObject({ permissions: z.unknown().optional() }).parse(parse(readOwnFile(path)))

  it("pins other people's actions by commit, with the tag beside it", () => {
    for (const { uses, tag } of usesIn(path).filter((one) => ownPath(one.uses) === null)) {
      expect(uses).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/)
      expect(tag).toMatch(/^v\d+\.\d+\.\d+$/)
    }
  })

  it('puts no expression into a shell script', () => {
    const scripts = readOwnFile(path).match(/^[ -]*run: (\|\n(?: {8,}.*\n?)+|.*)/gm) ?? []
    expect(scripts.filter((script) => script.includes('${{'))).toEqual([])
  })

  it('grants nothing that a job does not ask for', () => {
    // What runs a pull request's code reads, also where its caller has named nothing.
    const isMeasuring = path === '.github/workflows/measure.yml'
    expect(workflow.permissions).toEqual(isMeasuring ? { contents: 'read' } : {})
    if (isMeasuring) expect(readOwnFile(path).match(/^ *permissions:/gm)).toHaveLength(1)
  })

  it('keeps no credentials in a checkout', () => {
    const checkouts = readOwnFile(path)
      .split(/^ *- uses: actions\/checkout@/m)
      .slice(1)
    for (const checkout of checkouts)
      expect(checkout).toMatch(/^.*\n +with:(\n {10}.*)*\n {10}persist-credentials: false/)
  })
})

it.each([...EXAMPLES, 'docs/github.md'])('%s names the released version', (path) => {
  const named = Array.from(
    readOwnFile(path).matchAll(/speedproof\/speedproof\S*@(v[\d.]*\d)/g),
    ([, tag]) => tag,
  )
  expect(new Set(named)).toEqual(new Set([`v${version}`]))
})

it('the job ok of CI needs every other job, since a branch rule asks for it alone', () => {
  const { jobs } = z
    .object({ jobs: z.record(z.string(), z.object({ needs: z.array(z.string()).optional() })) })
    .parse(parse(readOwnFile('.github/workflows/ci.yml')))
  const others = Object.keys(jobs).filter((name) => name !== 'ok')
  expect(jobs.ok?.needs?.toSorted()).toEqual(others.toSorted())
})

it('the reusable workflows take the action of their own commit', () => {
  expect(REUSABLE.flatMap(usesIn).map(({ uses }) => uses)).toContain('$/.github/actions/speedproof')
  const generated = readOwnFile('.github/actions/speedproof/action.yml').split('\n').slice(1).join('\n')
  expect(generated.replaceAll('../../../', '')).toBe(readOwnFile('action.yml'))
})

/** What the reusable workflows settle themselves: where the files lie, which token, and the names that join both; measure.yml leaves an artifact. */
const SETTLED = ['job', 'out', 'report', 'github-token', 'artifact-name', 'measure-job']
const SETTLED_FOR = {
  measure: [...SETTLED, 'head-sha'],
  // The traces are in the artifact or not.
  report: [...SETTLED, 'noise-floors', 'profile'],
}

it.each(['measure', 'report'] as const)(
  '%s.yml takes every other input of the action and hands it on',
  (name) => {
    const action = z
      .object({ inputs: z.record(z.string(), z.unknown()) })
      .parse(parse(readOwnFile('action.yml')))
    const lines = readOwnFile(`.github/workflows/${name}.yml`).matchAll(
      /^ {10}([\w-]+): \$\{\{ inputs\.\1 \}\}$/gm,
    )
    const handed = Array.from(lines, ([, input]) => input).filter((input) => input !== 'python-version')
    const inputs = Object.keys(action.inputs).filter((input) => !SETTLED_FOR[name].includes(input))
    expect(handed.filter((input) => input !== 'ref').sort()).toEqual(inputs.sort())
  },
)
