// The ladders that are shipped: the trainer accepts every rung, alone and in the sum, on as many processes.
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import type { Settings } from '../../src/config/parse/mapping.ts'
import { parseExperiment } from '../../src/config/parse-experiment.ts'
import { rungSettings } from '../../src/ladder/plan.ts'
import { PYTHON, ROOT } from '../fixtures/processes/launching.ts'

const experimentOf = (file: string) => parseExperiment(readFileSync(join(ROOT, file), 'utf8'), file)
const trainingFile = z.object({ speed: z.record(z.string(), z.unknown()) })
const LADDERS = globSync('configs/experiments/*.yaml', { cwd: ROOT }).filter(
  (file) => experimentOf(file).ladder,
)

/** In one process for all rungs: starting one for each takes a minute. */
const CHECK = `
import json, sys
from pathlib import Path
from trainer.config import load_config
from trainer.config.rules import require_world_fits
from trainer.config.speed_rules import require_device_fits
from trainer.errors import ConfigError
asked = json.load(sys.stdin)
for title, settings in asked["settings"].items():
    try:
        config = load_config(Path(asked["config"]), [f"{key}={json.dumps(value)}" for key, value in settings.items()])
        require_world_fits(config, asked["processes"])
        require_device_fits(config.speed, asked["device"], asked["processes"])
    except ConfigError as error:
        print(f"{title}: {error}")
`

test('there is one for the smoke experiment, and for 1, 2 and 4 GPUs', () => {
  expect(LADDERS.toSorted()).toEqual([
    'configs/experiments/ladder-1gpu.yaml',
    'configs/experiments/ladder-2gpu.yaml',
    'configs/experiments/ladder-4gpu.yaml',
    'configs/experiments/smoke.yaml',
  ])
})

describe.each(LADDERS)('%s', (file) => {
  const { ladder, launch, variants } = experimentOf(file)

  test('comes in the sum to every switch of the optimized variant', () => {
    const sum = ladder ? rungSettings(ladder).at(-1)?.sum : {}
    const speedOf = ({ config = '' }: { config?: string | undefined }) =>
      trainingFile.parse(parse(readFileSync(join(ROOT, config), 'utf8'))).speed
    const [before, after] = [speedOf(variants.baseline), speedOf(variants.optimized)]
    const wanted = Object.entries(after).filter(([key, value]) => before[key] !== value)
    expect(wanted).not.toEqual([])
    expect(sum).toMatchObject(Object.fromEntries(wanted.map(([key, value]) => [`speed.${key}`, value])))
    const beyond = Object.entries(sum ?? {}).filter(
      ([key, value]) => key.startsWith('speed.') && after[key.slice('speed.'.length)] !== value,
    )
    expect(beyond).toEqual([])
  })

  test('has no rung that the trainer refuses', () => {
    const settings: Record<string, Settings> = {}
    for (const { rung, alone, needs, sum } of ladder ? rungSettings(ladder) : []) {
      settings[`${rung.name} alone`] = { ...ladder?.set, ...alone }
      settings[`what ${rung.name} needs`] = { ...ladder?.set, ...needs }
      settings[`sum up to ${rung.name}`] = { ...ladder?.set, ...sum }
    }
    const device = file.endsWith('smoke.yaml') ? 'cpu' : 'cuda'
    const { config } = variants.baseline
    const asked = { config, settings, device, processes: launch.nproc_per_node }
    const input = JSON.stringify(asked)
    expect(execFileSync(PYTHON, ['-c', CHECK], { cwd: ROOT, input, encoding: 'utf8' })).toBe('')
  })
})

test('those for 2 and for 4 GPUs differ in the number alone', () => {
  const [two, four] = [2, 4].map((gpus) =>
    readFileSync(join(ROOT, `configs/experiments/ladder-${gpus}gpu.yaml`), 'utf8')
      .replaceAll(`${gpus}gpu`, 'Ngpu')
      .replaceAll(`${gpus} GPUs`, 'N GPUs')
      .replace(`nproc_per_node: ${gpus}`, 'nproc_per_node: N'),
  )
  expect(two).toBe(four)
})
