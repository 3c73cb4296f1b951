// With --profile, both variants are traced after the verdict, and a slower operator is named in the report.
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { aFolder, PYTHON } from '../fixtures/processes/launching.ts'
import { speedproof } from '../harness/command-line.ts'

/** The slow form computes the same by an operator that the fast one does not have. */
const SCRIPT = `import sys
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(int(sys.argv[1])):
    optimizer.zero_grad()
    out = model(torch.ones(256, 64))
    if "slow=True" in sys.argv:
        out = out + 0 * torch.linalg.svdvals(out.detach()).sum()
    out.square().mean().backward()
    optimizer.step()
print(f"step {sys.argv[1]}: val loss 1.0")
`

async function aTraining(steps: number): Promise<string> {
  const folder = await aFolder()
  const experiment = {
    name: 'traced',
    kind: 'same-work',
    trainer: { arguments: '{key}={value}', speed_keys: ['slow'] },
    launch: { python: PYTHON, command: ['{python}', 'train.py', String(steps)] },
    variants: { baseline: { set: { slow: false } }, optimized: { set: { slow: true } } },
    design: { blocks: 1, warm_up_launches: 0 },
    metrics: {
      format: 'recorder',
      samples_per_step: 256,
      patterns: { evaluation: 'step (?<step>\\d+): val loss (?<val_loss>\\S+)' },
    },
    gates: { speedup: { at_least: 3, evidence: 'point' } },
  }
  await writeFile(join(folder, EXPERIMENT_FILE), stringify(experiment))
  await writeFile(join(folder, 'train.py'), SCRIPT)
  return folder
}

it('names the operator that made the step slower, and judges the same without the traces', async () => {
  const folder = await aTraining(40)
  await speedproof(folder, 'run', EXPERIMENT_FILE, '--profile')
  const report = await readFile(join(folder, 'out', 'report.md'), 'utf8')
  expect(report).toMatch(/<summary>What changed inside the step: most of all aten::linalg&#95;svdvals/)
  const { verdict, outcomes } = await readResult(folder)
  expect(outcomes.map(({ run }) => run.id)).toEqual(['01-block-1-baseline', '02-block-1-optimized'])
  const again = await speedproof(folder, 'report', 'out/result.json')
  expect(again.stdout).toContain('What changed inside the step')
  await writeFile(join(folder, 'out/runs/traced-optimized/profile/profile.json'), '{"schema_version": 1')
  const damaged = await speedproof(folder, 'report', 'out/result.json')
  expect(damaged.stdout).toContain('optimized: profile.json cannot be read')
  expect(damaged.stdout).toContain(verdict.verdict)
  await rm(join(folder, 'out/runs/traced-optimized'), { recursive: true })
  const without = await speedproof(folder, 'report', 'out/result.json')
  expect(without.stdout).not.toContain('inside the step')
})

it('keeps the verdict of a training that is too short to be traced', async () => {
  const folder = await aTraining(10)
  await speedproof(folder, 'run', EXPERIMENT_FILE, '--profile')
  const report = await readFile(join(folder, 'out', 'report.md'), 'utf8')
  expect(report).toContain('No step of both variants could be traced.')
  expect(report).toMatch(/baseline: the training took 10 steps/)
  expect((await readResult(folder)).outcomes.map(({ status }) => status)).toEqual(['finished', 'finished'])
})
