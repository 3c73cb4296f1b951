// The example trainer, which shares no code with Speedproof, is driven by its own experiment, made shorter.
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { EXIT_CODES } from '../../src/cli/exit-code.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { aFolder, PYTHON, QUICK_PYTHON, ROOT } from '../fixtures/processes/launching.ts'
import { speedproof } from '../harness/command-line.ts'

const EXAMPLE = 'examples/foreign-trainer'
const EXPERIMENT = `${EXAMPLE}/experiment.yaml`

/** A folder with the example in it; each replacement is of a text that one of its files has. */
async function aCopy(replacements: readonly [file: string, old: string, replacement: string][]) {
  const folder = await aFolder()
  await cp(join(ROOT, EXAMPLE), join(folder, EXAMPLE), { recursive: true })
  for (const [name, old, replacement] of replacements) {
    const file = join(folder, EXAMPLE, name)
    const text = await readFile(file, 'utf8')
    expect(text).toContain(old)
    await writeFile(file, text.replace(old, replacement))
  }
  return folder
}

const QUICKER: [string, string, string][] = [
  ['baseline.yaml', 'updates: 200', 'updates: 60'],
  ['optimized.yaml', 'updates: 200', 'updates: 60'],
]

it('its experiment file is valid as it stands', async () => {
  const { exitCode, stdout } = await speedproof(ROOT, 'plan', EXPERIMENT)
  expect(exitCode).toBe(0)
  expect(stdout).toContain('08-block-3-optimized')
})

it('a foreign trainer completes equal work and its gates are measured', async () => {
  const folder = await aCopy([
    ...QUICKER,
    ['experiment.yaml', 'blocks: 4', 'blocks: 2\n  warm_up_launches: 0'],
    // Two blocks are too few for an interval of a loss.
    ['experiment.yaml', 'below: 0.001', 'below: 0.001\n    evidence: point'],
    ['experiment.yaml', 'at_most: 1.03', 'at_most: 1.03\n    evidence: point'],
  ])
  const { exitCode, stdout } = await speedproof(folder, 'run', EXPERIMENT, '--python', PYTHON)
  const { verdict, outcomes } = await readResult(folder)
  expect(outcomes.filter(({ status }) => status !== 'finished')).toEqual([]) // and why not, if not
  expect(outcomes).toHaveLength(4)

  const states = Object.fromEntries(verdict.checks.map(({ name, status }) => [name, status]))
  expect(states).toEqual({
    completion: 'passed',
    'equal work': 'passed',
    'same code': 'passed',
    'same machine': 'passed',
    // Whether real steps kept their pace is this machine's doing: other tests run beside this one.
    'steady state': expect.stringMatching(/^(passed|failed)$/),
    clocks: 'passed',
    evaluation: 'not-measured',
    'noise floor': 'not-measured',
  })
  expect(verdict.gates.map(({ gate }) => gate.name)).toEqual(['speedup', 'loss_delta', 'val_loss_ratio'])
  expect(verdict.gates.map(({ status }) => status)).not.toContain('not-measured')
  // So is how fast it is, which decides among the others.
  expect(verdict.verdict === 'invalid').toBe(states['steady state'] === 'failed')
  expect(exitCode).toBe(EXIT_CODES[verdict.verdict])
  expect(stdout).toContain(`foreign-trainer ${verdict.verdict} on this host: `)
}, 900_000)

it('a variant that is evaluated on other data than the baseline makes the experiment invalid', async () => {
  const isOptimized = 'config["speed"]["fused"]'
  const folder = await aCopy([
    ...QUICKER,
    ['train.py', 'wave(HELD_OUT_PAIRS, seed=1)', `wave(HELD_OUT_PAIRS, seed=1 + ${isOptimized})`],
    ['experiment.yaml', 'blocks: 4', 'blocks: 4\n  warm_up_launches: 0'],
    // One rank has nobody to meet, so that it does without torchrun.
    ['experiment.yaml', 'OMP_NUM_THREADS: "1"', 'MASTER_ADDR: 127.0.0.1\n    MASTER_PORT: "0"'],
  ])
  const alone = ['--python', QUICK_PYTHON, '--nproc-per-node', '1']
  const { exitCode, stdout } = await speedproof(folder, 'run', EXPERIMENT, ...alone)
  expect(stdout).toMatch(/foreign-trainer invalid on this host: .*equal work: data hashes differ: /)
  expect(exitCode).toBe(EXIT_CODES.invalid)
}, 300_000)
