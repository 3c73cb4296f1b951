// Each example is measured with its real library: no line of it knows Speedproof, or few do, and a table comes out.
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { REPOSITORY, speedproof } from '../harness/command-line.ts'

interface Example {
  readonly name: string
  /** Lines of its trainer that are there for Speedproof. */
  readonly lines: number
  /** A script that prints its loss says nothing of the samples it is from. */
  readonly heldOutSet: 'known' | 'unknown'
}

const EXAMPLES: readonly Example[] = [
  { name: 'hugging-face', lines: 0, heldOutSet: 'known' },
  { name: 'lightning', lines: 0, heldOutSet: 'known' },
  { name: 'accelerate', lines: 5, heldOutSet: 'known' },
  { name: 'plain-loop', lines: 0, heldOutSet: 'unknown' },
  { name: 'hydra', lines: 5, heldOutSet: 'known' },
]
/** Fewer have no interval of a loss. */
const BLOCKS = '3'
const MOST_LINES_OF_EXPERIMENT = 25

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(REPOSITORY, 'out-examples-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe.each(EXAMPLES)('$name', ({ name, lines, heldOutSet }) => {
  const experiment = `examples/${name}/experiment.yaml`

  it('has a short experiment, and few lines for Speedproof', () => {
    const text = readFileSync(join(REPOSITORY, experiment), 'utf8')
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(MOST_LINES_OF_EXPERIMENT)
    const trainer = readFileSync(join(REPOSITORY, `examples/${name}/train.py`), 'utf8')
    const code = trainer.replace(/^""".*?"""/s, '')
    const ours = code.split('\n').filter((line) => /recorder|speedproof/i.test(line))
    expect(ours.length).toBeLessThanOrEqual(lines)
  })

  it('is measured in every launch, and its table has a speedup', async () => {
    const out = join(folder, name)
    const { stdout, stderr, exitCode } = await speedproof(
      ...[REPOSITORY, 'run', experiment, '--blocks', BLOCKS, '--out', out],
    )
    // Which verdict it is depends on how busy the machine is.
    expect([0, 1, 3, 4], stderr).toContain(exitCode)
    expect(stdout).toMatch(/completion: passed, 8 of 8 launches finished/)
    expect(stdout).toMatch(/equal work: passed/)
    expect(stdout).toMatch(/\| speedup +\|.* \d[\d.]*x /)
    expect(stdout).toMatch(/\| loss_ratio +\|.* 1\.0\d*x /)
    expect(stdout.includes('held-out set is unknown')).toBe(heldOutSet === 'unknown')
  })
})
