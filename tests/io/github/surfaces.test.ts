// Summary, outputs, annotations and state, from an action's process to the runner's files.
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, vi } from 'vitest'
import { MAX_SUMMARY_BYTES, writeSummary } from '../../../src/io/github/report/job-summary.ts'
import { writeOutputs } from '../../../src/io/github/report/outputs.ts'
import { parseKeyValueFile } from '../../harness/file-commands.ts'
import { type ActionOptions, runAction } from '../../harness/runner.ts'

const ENTRY = fileURLToPath(new URL('../../fixtures/actions/surfaces.ts', import.meta.url))

/** A file of the runner for this process. */
async function aCommandFile(name: string) {
  const folder = await mkdtempDisposable(join(tmpdir(), 'speedproof-surfaces-'))
  const path = join(folder.path, name)
  await writeFile(path, '')
  vi.stubEnv(`GITHUB_${name}`, path)
  return {
    read: () => readFile(path, 'utf8'),
    async [Symbol.asyncDispose]() {
      vi.unstubAllEnvs()
      await folder[Symbol.asyncDispose]()
    },
  }
}

async function run(inputs: Record<string, string>, environment: ActionOptions['environment'] = {}) {
  const { main, post } = await runAction({ main: ENTRY, post: ENTRY, inputs, environment })
  expect(main).toMatchObject({ exitCode: 0 })
  return { ...main, post }
}

describe('inputs', () => {
  it('keep their hyphens, are trimmed, and are empty when absent', async () => {
    const { outputs } = await run({ 'min-speedup': ' 3.0\n', text: 'x' })
    expect(JSON.parse(outputs.inputs ?? '')).toMatchObject({ 'min-speedup': '3.0', 'left-out': '' })
  })
})

describe('outputs', () => {
  it.each([
    ['line breaks', 'a\n\nb\r\nc'],
    ['a heredoc that would set another output', 'x\nEOF\nverdict<<EOF\nforged\nEOF'],
    ['an assignment', 'verdict=forged\nghadelimiter_1\nverdict=forged'],
  ])('arrive as they are with %s', async (_, text) => {
    const { outputs } = await run({ text })
    expect(outputs).toMatchObject({ text, verdict: 'passed' })
  })

  it('stay under 1 MB together, and the short ones are whole', async () => {
    await using file = await aCommandFile('OUTPUT')
    const long = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`log-${n}`, 'x'.repeat(100_000)]))
    expect(writeOutputs({ ...long, verdict: 'passed' })).toEqual({ status: 'written' })
    const outputs = parseKeyValueFile(await file.read())
    expect(outputs).toMatchObject({ verdict: 'passed', 'log-0': 'x'.repeat(65_536) })
    // GitHub counts two bytes per UTF-16 unit.
    expect(2 * Object.entries(outputs).flat().join('').length).toBeLessThanOrEqual(1_000_000)
  })

  it('are left alone outside of a workflow', async () => {
    const { lines } = await run({ text: 'x' }, { GITHUB_OUTPUT: undefined })
    expect(lines).toEqual(['summary written, outputs skipped'])
  })

  it('that cannot be written do not stop the action', async () => {
    const { lines } = await run({ text: 'x' }, { GITHUB_OUTPUT: '/nowhere/output' })
    expect(lines).toEqual(['summary written, outputs failed'])
  })
})

describe('the job summary', () => {
  it('has the text', async () => {
    expect(await run({ text: '# passed' })).toMatchObject({ summary: '# passed\n' })
  })

  it.each([
    [
      'at a line',
      Array(3000).fill('💡'.repeat(100)).join('\n'),
      /^(?:(?:💡){100}\n)+\n> The rest is cut off: .+\n$/u,
    ],
    [
      'between characters where a line is too long',
      `a${'💡'.repeat(300_000)}`,
      /^a(?:💡)+\n\n> The rest is cut off: .+\n$/u,
    ],
  ])('over 1 MiB is cut %s, and says so', async (_, markdown, pattern) => {
    await using file = await aCommandFile('STEP_SUMMARY')
    expect(await writeSummary(markdown)).toEqual({ status: 'written' })
    const summary = await file.read()
    expect(Buffer.byteLength(summary)).toBeLessThanOrEqual(MAX_SUMMARY_BYTES)
    expect(Buffer.byteLength(summary)).toBeGreaterThan(MAX_SUMMARY_BYTES - 1000)
    expect(summary).toMatch(pattern)
  })

  it.each([
    [undefined, 'skipped'],
    ['/nowhere/summary', 'failed'],
  ])('at %s is %s', async (path, status) => {
    const { lines } = await run({ text: 'x' }, { GITHUB_STEP_SUMMARY: path })
    expect(lines).toEqual([`summary ${status}, outputs written`])
  })
})

describe('an annotation', () => {
  it('carries line breaks and signs of commands as text', async () => {
    const text = 'at 50%:\n::error::forged\r##[error]forged'
    const { annotations } = await run({ text, warning: 'careful' })
    expect(annotations).toEqual([{ level: 'warning', title: 'careful', message: text }])
  })

  it('is cut where it is longer than GitHub shows', async () => {
    const { annotations } = await run({ text: 'x'.repeat(5000), warning: 'y'.repeat(300) })
    expect(annotations).toEqual([
      { level: 'warning', title: `${'y'.repeat(199)}…`, message: `${'x'.repeat(3999)}…` },
    ])
  })
})

describe('state', () => {
  it('reaches the post step', async () => {
    const { post } = await run({ text: 'left\nright' })
    expect(post?.lines).toEqual(['post found left', 'right'])
  })

  it('is not saved outside of a workflow', async () => {
    const { lines, state } = await run({ text: 'x' }, { GITHUB_STATE: undefined })
    expect(lines).toEqual(['summary written, outputs written'])
    expect(state).toEqual({})
  })
})
