// Bad input ends the step with an error that names it, before anything is launched or written.
import { existsSync } from 'node:fs'
import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { anExperiment, EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { PYTHON } from '../fixtures/processes/launching.ts'
import { measure, startServices } from '../harness/speedproof.ts'

interface BadInput {
  inputs?: Record<string, string>
  experiment?: Parameters<typeof anExperiment>[0]
  spoil?: (folder: string) => Promise<void>
}

const write = (name: string, text: string) => (folder: string) => writeFile(join(folder, name), text)

async function addPythonWithoutTorch(folder: string): Promise<void> {
  const path = join(folder, 'bare-python')
  // -S leaves out the packages that are installed, -I the folder that it is started in.
  await writeFile(path, `#!/bin/sh\nexec '${PYTHON}' -I -S "$@"\n`)
  await chmod(path, 0o755)
}

it.each<[string, BadInput, RegExp]>([
  ['no experiment', { inputs: { experiment: '' } }, /^experiment: missing; expected a value such as configs/],
  [
    'a folder that is not there',
    { inputs: { 'working-directory': 'typo' } },
    /^working-directory: got "typo", which is not a folder in /,
  ],
  ['an unknown file', { inputs: { experiment: 'typo.yaml' } }, /^typo\.yaml: cannot be read .*ENOENT/],
  ['a min-speedup in words', { inputs: { 'min-speedup': 'fast' } }, /^min-speedup: got "fast", expected a/],
  ['a min-speedup of 0', { inputs: { 'min-speedup': '0' } }, /^min-speedup: got "0", expected a decimal/],
  ['a negative min-speedup', { inputs: { 'min-speedup': '-1' } }, /^min-speedup: got "-1", .*above 0/],
  ['a min-speedup of NaN', { inputs: { 'min-speedup': 'NaN' } }, /^min-speedup: got "NaN", .*such as 3\.0/],
  ['half a block', { inputs: { blocks: '0.5' } }, /^blocks: got "0\.5", expected a whole number/],
  ['an unknown report', { inputs: { report: 'both' } }, /^report: got "both", expected direct or artifact/],
  [
    'an unknown gate',
    { experiment: { gates: { speed_up: { at_least: 3 } } } },
    /gates\.speed_up: unknown gate; use one of speedup,/,
  ],
  [
    'a negative limit',
    { experiment: { gates: { loss_delta: { below: -1 } } } },
    /gates\.loss_delta\.below: got -1, expected a number above 0/,
  ],
  [
    'an unknown key',
    { experiment: { design: { bloks: 2 } } },
    /^experiment\.yaml: design\.bloks: unknown key \(known keys: blocks,/,
  ],
  [
    'a tab',
    { spoil: write(EXPERIMENT_FILE, 'name: x\ndesign:\n\tblocks: 2\n') },
    /^experiment\.yaml, line 3: not valid YAML: .*indent with spaces/,
  ],
  [
    'a trainer config that is missing',
    { spoil: (folder) => rm(join(folder, 'baseline.yaml')) },
    /^variants\.baseline\.config: baseline\.yaml: cannot be read/,
  ],
  [
    'variants that differ where they may not',
    { spoil: write('baseline.yaml', 'steps: 30\n') },
    /^variants: a same-work experiment may differ only under speed:.*steps \(baseline 30, optimized 20\)/,
  ],
  [
    'a secret for the trainer',
    { experiment: { launch: { env: { HUB_TOKEN: 'x' } } } },
    /^experiment\.yaml: launch\.env\.HUB_TOKEN: a trainer may not see it/,
  ],
  [
    'a Python without torch',
    { inputs: { python: './bare-python' }, spoil: addPythonWithoutTorch },
    /^launch\.python: got "\.\/bare-python", which has no torch.*Install torch/,
  ],
  [
    'a Python that is not there',
    { inputs: { python: 'no-such-python' } },
    /^launch\.python: got "no-such-python", which cannot be started .*name an interpreter that has torch/,
  ],
])('%s is refused', async (_, { inputs = {}, experiment, spoil }, message) => {
  const folder = await anExperiment(experiment)
  await spoil?.(folder)
  await using services = await startServices()
  const { main, post } = await measure(folder, services, { inputs })
  expect(main.annotations).toEqual([{ level: 'error', title: '', message: expect.stringMatching(message) }])
  expect([main.exitCode, post?.exitCode]).toEqual([1, 0])
  expect(main.outputs).toEqual({})
  expect(existsSync(join(folder, 'out'))).toBe(false)
  expect(services.github.calls).toEqual([])
})
