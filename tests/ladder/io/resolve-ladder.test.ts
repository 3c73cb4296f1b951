// Which trainings a ladder consists of, as a trainer resolves them that knows what cannot work together.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseExperiment } from '../../../src/config/parse-experiment.ts'
import {
  type LadderResolver,
  ladderResolver,
  type ResolvedLadder,
} from '../../../src/ladder/io/resolve-ladder.ts'
import { ladderRun } from '../../../src/ladder/plan.ts'
import type { LadderLaunch } from '../../../src/ladder/record.ts'
import { outcomeOf } from '../../../src/measure/outcome.ts'
import { aFinishedRun, aLaunchRecord } from '../../fixtures/builders.ts'
import { aFolder, notCancelled, PYTHON } from '../../fixtures/processes/launching.ts'

/** Resolves every config to what is set in it, and refuses `graph` without `resident`. */
const TRAINER = `
import json, sys
words = sys.argv[1:]
given = [word.partition("=") for flag, word in zip(words, words[1:]) if flag == "--set"]
speed = {key.removeprefix("speed."): json.loads(value) for key, _, value in given}
if speed.get("graph") and not speed.get("resident"):
    sys.exit("speed.graph: needs resident")
print(json.dumps({"speed": speed}))
`

const EXPERIMENT = `
name: x
kind: same-work
trainer: { script: trainer.py, command: train, validate_command: validate }
variants:
  baseline: { config: config.yaml }
  optimized: { config: config.yaml, set: { speed.graph: true, speed.resident: true } }
ladder:
  rungs:
    - { name: bf16, set: { speed.bf16: true } }
    - { name: resident, set: { speed.resident: true } }
    - { name: graph, set: { speed.graph: true }, needs: [resident] }
    - { name: ema, set: { speed.ema: true } }
`

async function aTrainer(experiment = EXPERIMENT): Promise<LadderResolver> {
  const workingDirectory = await aFolder()
  await writeFile(join(workingDirectory, 'trainer.py'), TRAINER)
  const place = { workingDirectory, python: PYTHON }
  const places = { baseline: place, optimized: place }
  return ladderResolver(parseExperiment(experiment, 'x.yaml'), {}, places, new Map(), notCancelled())
}

async function aLaunch(
  end: 'finished' | 'failed',
  { trainings }: ResolvedLadder,
  title: string,
): Promise<LadderLaunch> {
  const training = trainings.find((one) => one.title === title)?.hash
  if (training === undefined) throw new Error(`no training of the title ${title}`)
  const run = ladderRun(title, false, 0, 0)
  const launch = aLaunchRecord({ runId: run.id }, { status: 'exited', exitCode: 1, wallSeconds: 9 })
  const outcome = end === 'failed' ? outcomeOf(run, launch, null) : await aFinishedRun(run)
  return { sitting: 0, training, launched: { launch, outcome }, disturbance: null }
}

const titlesOf = ({ trainings }: ResolvedLadder) => trainings.map(({ title }) => title)
const configOf = ({ trainings }: ResolvedLadder, title: string) =>
  trainings.find((one) => one.title === title)?.input.settings.speed

test('rungs that come to one training are one training', async () => {
  const ladder = await (await aTrainer())([])
  expect(titlesOf(ladder)).toEqual([
    'baseline',
    'bf16 alone',
    'resident alone',
    'sum up to resident',
    'sum up to graph',
    'ema alone',
    'sum up to ema',
    'optimized variant',
  ])
  // What graph needs is resident alone, and with it it is the optimized variant.
  expect(ladder.rungs[2]).toMatchObject({
    from: ladder.rungs[1]?.alone,
    alone: ladder.trainings.at(-1)?.hash,
  })
})

test('a rung that failed in the sum is in no later sum, and neither is one that the trainer then refuses', async () => {
  const resolveAfter = await aTrainer()
  const before = await resolveAfter([])
  const after = await resolveAfter([
    await aLaunch('finished', before, 'bf16 alone'),
    await aLaunch('failed', before, 'sum up to resident'),
  ])
  expect(after.rungs.map(({ name, isLeftOut }) => [name, isLeftOut])).toEqual([
    ['bf16', false],
    ['resident', true],
    ['graph', true],
    ['ema', false],
  ])
  expect(after.rungs[2]?.sum).toBeNull()
  expect(titlesOf(after)).not.toContain('sum up to graph')
  expect(configOf(after, 'sum up to ema')).toEqual({ bf16: true, ema: true })
  expect(after.rungs[3]?.sumBefore).toBe(after.rungs[0]?.sum)
})

test('where several sums failed, a rung is left out only if its sum fails without those before it too', async () => {
  const resolveAfter = await aTrainer()
  const before = await resolveAfter([])
  const titles = ['sum up to resident', 'sum up to ema']
  const failed = await Promise.all(titles.map((title) => aLaunch('failed', before, title)))
  const after = await resolveAfter(failed)
  const leftOut = after.rungs.filter(({ isLeftOut }) => isLeftOut).map(({ name }) => name)
  expect(leftOut).toEqual(['resident', 'graph'])
})

test('a ladder whose ends are one training has no baseline to be compared with', async () => {
  const same = EXPERIMENT.replace('set: { speed.graph: true, speed.resident: true }', 'set: {}')
  await expect((await aTrainer(same))([])).rejects.toThrow(
    'baseline and optimized variant are the same training',
  )
})

test('a rung that the trainer refuses is refused, with what the trainer says of it', async () => {
  const refused = await aTrainer(EXPERIMENT.replace(', needs: [resident]', ''))
  await expect(refused([])).rejects.toThrow(/ladder: graph alone: .*\n.*speed\.graph: needs resident/)
})
