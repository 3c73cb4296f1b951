// The tables of a ladder, as a terminal and as a Markdown file has them.
import { expect, test } from 'vitest'
import { renderLadderMarkdown, renderLadderTerminal } from '../../src/ladder/report/report.ts'
import { aLadder, aRung, type LaunchSpec } from '../fixtures/ladders.ts'

const LAUNCHES: readonly LaunchSpec[] = [
  { training: 'baseline', stepSeconds: 0.0801 },
  {
    training: 'graph alone',
    stepSeconds: 0.04,
    valLoss: 0.0205,
    phases: [
      { event: 'phase', name: 'compile', seconds: 20, step: 1 },
      { event: 'phase', name: 'capture', seconds: 2.5, step: 4 },
      { event: 'phase', name: 'data', seconds: 9 },
    ],
    end: { peak_memory_reserved_bytes: [40e9, 41e9], total_seconds: 50 },
  },
  { training: 'baseline', stepSeconds: 0.0799 },
]

const RUNG = aRung('graph', {
  sum: 'graph alone',
  predicts: '1.15 to 1.25x (plan)',
  note: 'one launch an update',
})

test('a row has step, speedup, prediction, memory, set-up, loss and verdict', async () => {
  const record = await aLadder([RUNG], [LAUNCHES])
  const [row = ''] = renderLadderTerminal(record)
    .split('\n')
    .filter((line) => line.startsWith('| graph'))
  expect(row.split('|').map((cell) => cell.trim())).toMatchInlineSnapshot(`
    [
      "",
      "graph",
      "40.0 ms",
      "2.00x (1.95x to 2.06x)",
      "2.00x (1.95x to 2.06x)",
      "1.15 to 1.25x (plan)",
      "41.0 GB (38.2 GiB)",
      "22.5 s, warm cache",
      "0.02050",
      "+0.000500",
      "gain",
      "",
    ]
  `)
})

test('a row says what is not known of its launch', async () => {
  const rowOf = async (...launches: LaunchSpec[]) =>
    renderLadderTerminal(await aLadder([aRung('graph')], [launches]))
      .split('\n')
      .find((line) => line.startsWith('| graph'))
      ?.split('|')
      .map((cell) => cell.trim())
      .filter((cell) => cell !== '')
  const baseline: LaunchSpec = { training: 'baseline' }
  const graph: LaunchSpec = { training: 'graph alone' }
  const failure = { rank: 0, cause: 'out-of-memory', message: 'CUDA out of memory', step: 3 } as const
  const short = { ...graph, stepSeconds: Array<number>(10).fill(0.04) }
  const [, step, speedup, gain] = (await rowOf(baseline, graph)) ?? []
  expect([step, speedup, gain]).toEqual(['80.0 ms', '1.00x', '1.00x'])
  const [, noStep, noSpeedup, noGain] = (await rowOf(baseline, short, baseline)) ?? []
  expect([noStep, noSpeedup, noGain]).toEqual(['no steady state', 'not measured', 'not measured'])
  expect(await rowOf(baseline, { ...graph, failure }, baseline)).toEqual(['graph', 'failed: out-of-memory'])
  expect(await rowOf(baseline, baseline)).toEqual(['graph', 'not measured'])
})

test('below the tables stands how to read them, what was read back, and every sitting', async () => {
  const text = renderLadderTerminal(await aLadder([RUNG], [LAUNCHES], { settings: { 'train.updates': 60 } }))
  expect(text.slice(text.indexOf('How to read it'))).toMatchInlineSnapshot(`
    "How to read it
      speedup: seconds per sample of the baseline / those of the launch, in the steady state. The baseline is the mean of the baseline launches right before and after it.
      gain: the speedup over the training without this rung, which decides the verdict. Alone, that is the baseline with what the rung needs; in the sum, all rungs before it. Launches of different sittings are compared by their speedups. Of several launches of a training, the last one counts that shares a sitting with what it is compared with.
      noise: the standard deviation of one launch is 0.18%, from 1 pair of neighbouring baseline launches. Each rung has one launch, with this noise and the scatter of its own steps. Its 95% interval is in brackets. An interval that contains 1.00x reads "no gain" if it ends below 1.02x, else "open". About one in 20 rungs without effect reads "gain" or "loss".
      every launch with seed 0, train.updates: 60; loss delta: held-out loss minus that of the baseline launches around it.
      not active: the trainer reads back the same settings as without it.

    Rungs
      graph: reads back switch: baseline -> graph alone; one launch an update

    Sittings
      1: 2026-11-21 08:00 UTC on gpu-box, 2 x NVIDIA H200, python 3.11.2, torch 2.15.0, code of the trainer with SHA-256 c0dec0dec0de, 2 baseline launches, 79.9 ms to 80.1 ms a step, held-out loss 0.02000"
  `)
})

test('a sitting lists what does not count, and why', async () => {
  const disturbance = 'process 7 computed on its GPUs at the same time'
  const failure = { rank: 0, cause: 'error', message: 'NCCL error', step: null } as const
  const [before, graph, after] = LAUNCHES
  if (!before || !graph || !after) throw new Error('no launches')
  const record = await aLadder([RUNG], [[before, { ...graph, disturbance }, graph, { ...after, failure }]])
  const text = renderLadderTerminal(record)
  expect(text.slice(text.indexOf('Sittings')).split('\n').slice(2)).toEqual([
    '  no baseline launch after graph alone: their speedups are over the one before alone',
    `  sitting-1-002-graph-alone: not counted: ${disturbance}`,
    '  sitting-1-004-baseline: failed, exit-code: rank 0, after its end: NCCL error; without a baseline nothing could be compared',
  ])
})

test('what stands between two baselines that are far apart is named, and what has none after it', async () => {
  const baselineOf = (milliseconds: number): LaunchSpec => ({
    training: 'baseline',
    stepSeconds: Array<number>(40).fill(milliseconds / 1000),
  })
  const [compile, graph] = ['compile', 'graph'].map((name) => ({ training: `${name} alone` }))
  if (!compile || !graph) throw new Error('no launches')
  const cut = { ...graph, disturbance: 'process 7 computed on its GPUs at the same time' }
  const linesOf = async (...launches: LaunchSpec[]) => {
    const record = await aLadder(
      [aRung('compile'), RUNG],
      [[baselineOf(500), graph, baselineOf(80)], launches],
    )
    const text = renderLadderTerminal(record)
    return text.slice(text.indexOf('  2: ')).split('\n').slice(1)
  }
  const [calm, near, far] = [80, 83, 88].map(baselineOf)
  if (!calm || !near || !far) throw new Error('no launches')
  expect(await linesOf(calm, compile, near)).toEqual([])
  expect(await linesOf(calm, far)).toEqual([])
  expect(await linesOf(calm, cut, far)).toEqual([
    '  sitting-2-002-graph-alone: not counted: process 7 computed on its GPUs at the same time',
  ])
  expect(await linesOf(calm, compile, graph, far)).toEqual([
    '  the baseline launches around compile alone, graph alone differ (80.0 ms and 88.0 ms a step): over the first alone, the speedups are 4.7% lower',
  ])
  expect(await linesOf({ ...far, disturbance: 'other work' }, compile, calm, graph, calm)).toEqual([
    '  no baseline launch before compile alone: their speedups are over the one after alone',
    '  sitting-2-001-baseline: not counted: other work',
  ])
  expect(await linesOf(far, compile, calm, graph)).toEqual([
    '  the baseline launches around compile alone differ (88.0 ms and 80.0 ms a step): over the first alone, the speedups are 4.9% higher',
    '  no baseline launch after graph alone: their speedups are over the one before alone',
  ])
})

test('launches of other settings, which no row shows, are counted', async () => {
  const others = [{ training: 'long baseline' }, { training: 'long graph alone' }]
  const [one, two] = [renderLadderTerminal, renderLadderMarkdown]
  const text = '2 launches with other settings, from sitting 1: in ladder.json, but not in these tables.'
  const record = await aLadder([RUNG], [others, LAUNCHES])
  expect(one(record)).toContain(`  ${text}`)
  expect(two(record)).toContain(`- ${text}`)
  expect(one(await aLadder([RUNG], [others.slice(1), LAUNCHES]))).toContain(
    '  1 launch with other settings, ',
  )
  expect(one(await aLadder([RUNG], [LAUNCHES]))).not.toContain('with other settings')
})

test('a rung that does other work is marked, and what it changes is named', async () => {
  const record = await aLadder([RUNG], [LAUNCHES])
  const trainings = record.trainings.map((training) =>
    training.hash === 'graph alone' ? { ...training, otherWork: ['recipe.query_points'] } : training,
  )
  const text = renderLadderTerminal({ ...record, trainings })
  expect(text).toContain('| graph * ')
  expect(text).toContain('* does other work than the baseline: recipe.query_points.')
})

test('what a trainer or a file says is no Markdown', async () => {
  const rung = aRung('graph', { predicts: '<img src=x> | @someone' })
  const text = renderLadderMarkdown(await aLadder([rung], [LAUNCHES]))
  expect(text).not.toContain('<img')
  expect(text).not.toContain('@someone')
})
