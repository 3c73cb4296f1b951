// Which keys may differ as speed keys is the word of the base branch; a pull request cannot widen it.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { anExperiment, EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { type Measured, measureFolder, report, servicesWith } from '../harness/report-job.ts'

/** Measured with both keys, in both of which the variants differ outside of `speed:`. */
let measured: Measured
beforeAll(async () => {
  const folder = await anExperiment({ trainer: { speed_keys: ['bf16', 'model.width'] } })
  for (const [variant, bf16, width] of [
    ['baseline', false, 64],
    ['optimized', true, 32],
  ]) {
    const file = join(folder, `${variant}.yaml`)
    const config = JSON.parse(await readFile(file, 'utf8'))
    await writeFile(file, JSON.stringify({ ...config, bf16, model: { width } }))
  }
  measured = await measureFolder(folder)
})

/** The report of what was measured, where the experiment of main has these keys. */
async function reportedWith(keys: readonly string[]) {
  await using services = await servicesWith(measured)
  const old = /speed_keys:\n( +- .*\n)+/
  expect(measured.experiment).toMatch(old)
  const text = measured.experiment.replace(old, `speed_keys: ${JSON.stringify(keys)}\n`)
  services.github.files.main = { [EXPERIMENT_FILE]: text }
  const { annotations } = await report(services)
  return { checks: services.github.checks, body: services.github.comments[0]?.body ?? '', annotations }
}

it('passes, and shows the keys, where main names the same', async () => {
  expect(measured.main).toMatchObject({ outputs: { verdict: 'passed' } })
  const { checks, body } = await reportedWith(['bf16', 'model.width'])
  expect(checks).toMatchObject([{ status: 'completed', conclusion: 'success' }])
  expect(body).toMatch(/change only speed.*: bf16, model\.width/)
})

it('fails for a key that only the pull request names', async () => {
  const { checks, body } = await reportedWith(['bf16'])
  expect(checks).toMatchObject([{ status: 'completed', conclusion: 'failure' }])
  expect(checks[0]?.output.title).toContain('model.width')
  expect(body).not.toMatch(/change only speed.*model\.width/)
})

it('fails where main names none', async () => {
  const { checks } = await reportedWith([])
  expect(checks).toMatchObject([{ status: 'completed', conclusion: 'failure' }])
  expect(checks[0]?.output.title).toContain('bf16')
})

it('shows the keys of main, where it names more', async () => {
  const { body } = await reportedWith(['bf16', 'model.width', 'compile'])
  expect(body).toMatch(/change only speed.*: bf16, model\.width, compile/)
})
