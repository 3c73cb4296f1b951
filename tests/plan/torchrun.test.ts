// The command lines by which runs are launched.
import { expect, test } from 'vitest'
import { torchrunCommand } from '../../src/plan/torchrun.ts'
import { anExperiment, aPlannedRun, theRunFiles } from '../fixtures/builders.ts'

const files = theRunFiles('/out/run')
const lineOf = (difference: Parameters<typeof anExperiment>[0]) =>
  torchrunCommand(anExperiment(difference), aPlannedRun({ seed: 3 }), files).join(' ')

const { launch } = anExperiment()

test('one host meets at a port of its own', () => {
  expect(lineOf({ launch: { ...launch, nproc_per_node: 4 } })).toMatchInlineSnapshot(
    `"python3 -m torch.distributed.run --standalone --local-addr 127.0.0.1 --nproc-per-node 4 --log-dir /out/run/errors -m trainer train --config /out/run/config.json --out /out/run/trainer --seed 3"`,
  )
})

test('several nodes meet at an endpoint that their agents fill in, each run under its own name', () => {
  expect(
    lineOf({
      launch: { ...launch, nproc_per_node: 8, engine: 'slurm', nodes: 2 },
    }),
  ).toMatchInlineSnapshot(
    `"python3 -m torch.distributed.run --nnodes 2 --node-rank {node_rank} --rdzv-backend static --rdzv-endpoint {rdzv_endpoint} --rdzv-id two-task-03-block-1-baseline --nproc-per-node 8 --log-dir /out/run/errors -m trainer train --config /out/run/config.json --out /out/run/trainer --seed 3"`,
  )
})

test('a module without a command has no first argument', () => {
  expect(lineOf({ trainer: { module: 'my.trainer' } })).toContain(' -m my.trainer --config ')
})

test('a script is named by its file', () => {
  expect(lineOf({ trainer: { script: 'examples/train.py' } })).toContain(' examples/train.py --config ')
  expect(lineOf({ trainer: { script: 'train.py', command: 'fit' } })).toContain(' train.py fit --config ')
})

test('a path with blanks stays one argument', () => {
  const command = torchrunCommand(anExperiment(), aPlannedRun(), { ...files, outDirectory: '/my out/run' })
  expect(command).toContain('/my out/run')
})
