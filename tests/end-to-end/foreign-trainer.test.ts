// The example trainer, which shares no code with Speedproof, is driven by its experiment file as it stands.
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { EXIT_CODES } from '../../src/cli/exit-code.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { aFolder, PYTHON, ROOT } from '../fixtures/processes/launching.ts'
import { speedproof } from '../harness/command-line.ts'

const EXAMPLE = 'examples/foreign-trainer'
const EXPERIMENT = `${EXAMPLE}/experiment.yaml`

it('a foreign trainer completes equal work and its gates are measured', async () => {
  const folder = await aFolder()
  const flags = ['--blocks', '3', '--out', join(folder, 'out')]
  const { exitCode, stdout } = await speedproof(ROOT, 'run', EXPERIMENT, ...flags)
  const { verdict, outcomes } = await readResult(folder)
  expect(outcomes.filter(({ status }) => status !== 'finished')).toEqual([]) // and why not, if not
  expect(outcomes).toHaveLength(8)

  const states = Object.fromEntries(verdict.checks.map(({ name, state }) => [name, state]))
  expect(states).toEqual({
    completion: 'passed',
    'equal work': 'passed',
    'same code': 'passed',
    'same machine': 'passed',
    // Whether real steps kept their pace is this machine's doing: other tests run beside this one.
    'steady state': expect.stringMatching(/^(passed|failed)$/),
    clocks: 'passed',
    evaluation: 'not measured',
    'noise floor': 'not measured',
  })
  expect(verdict.gates.map(({ gate }) => gate.name)).toEqual(['speedup', 'loss_delta', 'val_loss_ratio'])
  expect(verdict.gates.map(({ state }) => state)).not.toContain('not measured')
  // So is how fast it is, which decides among the others.
  expect(verdict.verdict === 'invalid').toBe(states['steady state'] === 'failed')
  expect(exitCode).toBe(EXIT_CODES[verdict.verdict])
  expect(stdout).toContain(`foreign-trainer ${verdict.verdict}: `)
}, 900_000)

it('a variant that is evaluated on other data than the baseline makes the experiment invalid', async () => {
  const folder = await aFolder()
  await cp(join(ROOT, EXAMPLE), join(folder, EXAMPLE), { recursive: true })
  const inCopy = async (name: string, old: string, replacement: string) => {
    const file = join(folder, EXAMPLE, name)
    const text = await readFile(file, 'utf8')
    expect(text).toContain(old)
    await writeFile(file, text.replace(old, replacement))
  }
  const isOptimized = 'config["speed"]["fused"]'
  await inCopy('train.py', 'wave(HELD_OUT_PAIRS, seed=1)', `wave(HELD_OUT_PAIRS, seed=1 + ${isOptimized})`)
  for (const name of ['baseline.yaml', 'optimized.yaml']) await inCopy(name, 'updates: 200', 'updates: 40')
  const { exitCode, stdout } = await speedproof(folder, 'run', EXPERIMENT, '--python', PYTHON)
  expect(stdout).toMatch(/foreign-trainer invalid: .*equal work: data hashes differ: /)
  expect(exitCode).toBe(EXIT_CODES.invalid)
}, 300_000)
