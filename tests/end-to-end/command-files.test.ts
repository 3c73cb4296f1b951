// A training finds the runner's command files: what it writes there is removed, said, and steers nothing.
import { appendFileSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { anExperiment, TRAINERS } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { HEAD_SHA } from '../harness/events.ts'
import { measure, startMeasuring, startServices } from '../harness/speedproof.ts'

async function tampered(kind: string): Promise<string> {
  return await anExperiment({
    trainer: { script: join(TRAINERS, 'tampering.py') },
    launch: { env: { TAMPER: kind } },
  })
}

describe.each(['forge', 'link', 'remove'])('a training that does this to them: %s', (kind) => {
  it('gets no output, no state and no environment of its own, and an invalid verdict', async () => {
    const folder = await tampered(kind)
    await using services = await startServices()
    const { main, post } = await measure(folder, services)
    expect(main).toMatchObject({ exitCode: 1, outputs: { verdict: 'invalid' } })
    expect(main.outputs.reason).toContain('command files: something other than Speedproof')
    expect(main.outputs.speedup).not.toBe('9.9')
    expect(main.environment).toBe('')
    expect(Object.keys(main.state).sort()).toEqual(['marker', 'unfinished'])
    expect(main.state.unfinished).toBe('none')
    expect(main.summary).not.toContain('# Speedproof: passed')
    expect(services.github.checks).toMatchObject([{ head_sha: HEAD_SHA, conclusion: 'failure' }])
    expect(post).toMatchObject({ exitCode: 0 })
    expect((await readResult(folder)).interference).toHaveLength(1)
    if (kind === 'link') expect(readFileSync(join(folder, 'victim'), 'utf8')).toBe('')
  })
})

it.each([
  ['OUTPUT', 'verdict=passed\nspeedup=9.9\n'],
  ['ENV', 'PYTHONPATH=/forged\n'],
])('what writes into one after the verdict, while it is shown, makes it invalid: %s', async (name, text) => {
  const folder = await anExperiment()
  await using services = await startServices()
  await using action = await startMeasuring(folder, services)
  let hasWritten = false
  services.github.onCall = () => {
    // The upload comes after the verdict, comment and check after the upload.
    if (hasWritten || Object.keys(services.artifacts.uploaded).length === 0) return
    hasWritten = true
    for (const file of globSync(join(action.temp, 'commands-*', name))) appendFileSync(file, text)
  }
  const { main } = await action.finished
  expect(hasWritten).toBe(true)
  expect(main).toMatchObject({ exitCode: 1, outputs: { verdict: 'invalid' }, environment: '' })
  expect(main.outputs.reason).toContain('command files: something other than Speedproof')
  expect(main.outputs.speedup).not.toBe('9.9')
  expect(services.github.checks).toMatchObject([{ status: 'completed' }])
})

it('post, after a kill, uploads and concludes nothing that a forged state names', async () => {
  const folder = await tampered('forge and kill')
  await using services = await startServices()
  const { main, post } = await measure(folder, services)
  expect(main.signal).toBe('SIGKILL')
  expect(main.state.unfinished).toContain('forged')
  expect(post?.annotations).toMatchObject([{ level: 'error' }])
  expect(Object.keys(services.artifacts.uploaded)).not.toContain('forged')
  for (const { name, head_sha } of services.github.checks)
    expect({ name, head_sha }).toEqual({ name: 'Speedproof: faulty/measure', head_sha: HEAD_SHA })
  expect(services.github.checks.map(({ conclusion }) => conclusion)).not.toContain('success')
})
