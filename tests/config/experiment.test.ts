// An experiment file is read strictly: what it gets wrong is said with file, key, value and remedy.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { gatesOf } from '../../src/config/experiment.ts'
import { parseExperiment } from '../../src/config/parse-experiment.ts'
import { looksOf } from '../../src/plan/looks.ts'
import { refusal } from '../fixtures/refusal.ts'

const ROOT = join(import.meta.dirname, '../..')

const LINES = {
  name: 'name: two-task',
  kind: 'kind: same-work',
  trainer: 'trainer: { module: trainer }',
  variants: 'variants: { baseline: { config: a.yaml }, optimized: { config: b.yaml } }',
}

/** The file with some lines changed or added; '' leaves a line out. */
function text(changes: Partial<Record<keyof typeof LINES | 'launch' | 'design' | 'gates' | 'more', string>>) {
  return Object.values({ ...LINES, ...changes }).join('\n')
}

const parsed = (changes: Parameters<typeof text>[0] = {}) => parseExperiment(text(changes), 'x.yaml')
const refused = (changes: Parameters<typeof text>[0]) => refusal(() => parsed(changes))

describe('a short file', () => {
  test('gets the design, launch and gates that it does not name', () => {
    const { launch, design } = parsed()
    expect({ launch, design }).toMatchInlineSnapshot(`
      {
        "design": {
          "looks": [
            {
              "blocks": 2,
              "fail_level": 0.0089,
              "pass_level": 0,
            },
            {
              "blocks": 4,
              "fail_level": 0.01268,
              "pass_level": 0.0143,
            },
            {
              "blocks": 6,
              "fail_level": 0.01868,
              "pass_level": 0.01682,
            },
            {
              "blocks": 8,
              "fail_level": 0.02643,
              "pass_level": 0.01887,
            },
          ],
          "seed": 0,
          "warm_up_launches": 1,
        },
        "launch": {
          "engine": "local",
          "env": {},
          "lock_minutes": 120,
          "nodes": 1,
          "nproc_per_node": 1,
          "python": "python3",
          "shared_paths": [],
          "timeout_minutes": 60,
        },
      }
    `)
    expect(
      gatesOf(parsed()).map(({ name, direction, limit, severity, evidence }) =>
        [name, direction, limit, severity, evidence].join(' '),
      ),
    ).toMatchInlineSnapshot(`
      [
        "speedup at_least 3 required interval",
        "loss_delta below 0.001 required interval",
        "loss_ratio at_most 1.03 required interval",
        "nrmse_ratio at_most 1.03 required interval",
        "peak_memory_gb below 50 warn interval",
      ]
    `)
  })

  test('may not switch all gates off by an empty mapping', () => {
    expect(refused({ gates: 'gates: {}' })).toContain('x.yaml: gates: got {}, expected at least one gate')
  })
})

describe('a file of the repository', () => {
  const files = globSync(['configs/experiments/*.yaml', 'examples/**/experiment.yaml'], { cwd: ROOT })

  test('is found', () => {
    expect(files.length).toBeGreaterThan(1)
  })

  test.each(files)('%s parses', (file) => {
    const { variants } = parseExperiment(readFileSync(join(ROOT, file), 'utf8'), file)
    for (const { config } of Object.values(variants))
      expect(() => config && readFileSync(join(ROOT, config))).not.toThrow()
  })
})

describe('a refusal', () => {
  test('of a file that is no mapping says so', () => {
    expect(refusal(() => parseExperiment('', 'x.yaml'))).toMatchInlineSnapshot(
      `"x.yaml: is empty; expected YAML"`,
    )
    expect(refusal(() => parseExperiment('- 1', 'x.yaml'))).toMatchInlineSnapshot(
      `"x.yaml: the file: got [1], expected a mapping"`,
    )
    expect(refusal(() => parseExperiment('fast', 'x.yaml'))).toMatchInlineSnapshot(
      `"x.yaml: the file: got "fast", expected a mapping"`,
    )
  })

  test('lists everything that is missing at once', () => {
    expect(refusal(() => parseExperiment('name: x', 'x.yaml'))).toMatchInlineSnapshot(`
      "x.yaml: kind: missing; expected one of same-work, recipe, regression
      x.yaml: variants: missing; expected a mapping"
    `)
  })

  test('of an unknown key names the known ones', () => {
    expect(refused({ more: 'colour: red' })).toMatch(
      /^x\.yaml: colour: unknown key .*name, .*kind, .*gates\)$/,
    )
    expect(refused({ design: 'design: { block: 3 }' })).toMatch(
      /^x\.yaml: design\.block: unknown key .*blocks, looks, .*seed\)$/,
    )
  })

  test('of a wrong number says which numbers are right', () => {
    expect(refused({ design: 'design: { blocks: 2.5 }' })).toMatch(
      /^x\.yaml: design\.blocks: got 2\.5, expected a whole number .*1 to 64.*\[2, 4, 6, 8\]$/,
    )
    expect(refused({ design: 'design: { blocks: "4" }' })).toMatch(
      /^x\.yaml: design\.blocks: got "4", expected a whole number .*1 to 64.*\[2, 4, 6, 8\]$/,
    )
    expect(refused({ design: 'design: { blocks: 0 }' })).toMatchInlineSnapshot(
      `"x.yaml: design.blocks: got 0, expected at least 1"`,
    )
    expect(refused({ design: 'design: { blocks: 65 }' })).toMatchInlineSnapshot(
      `"x.yaml: design.blocks: got 65, expected at most 64"`,
    )
    expect(refused({ design: 'design: { seed: -1 }' })).toMatchInlineSnapshot(
      `"x.yaml: design.seed: got -1, expected at least 0"`,
    )
    expect(refused({ design: 'design: { seed: .nan }' })).toMatchInlineSnapshot(
      `"x.yaml: design.seed: got NaN, expected a finite number"`,
    )
    expect(refused({ launch: 'launch: { timeout_minutes: 0 }' })).toMatchInlineSnapshot(
      `"x.yaml: launch.timeout_minutes: got 0, expected more than 0"`,
    )
    expect(refused({ launch: 'launch: { lock_minutes: -1 }' })).toContain('got -1, expected at least 0')
    expect(looksOf(parsed({ design: 'design: { blocks: [4] }' }))).toEqual([4])
  })

  test('of a wrong text says which texts are right', () => {
    expect(refused({ name: 'name: Two Task' })).toMatch(
      /^x\.yaml: name: got "Two Task", expected lowercase .*such as two-task-4gpu$/,
    )
    expect(refused({ kind: 'kind: fair' })).toMatchInlineSnapshot(
      `"x.yaml: kind: got "fair", expected one of same-work, recipe, regression"`,
    )
    expect(refused({ launch: 'launch: { python: "" }' })).toMatchInlineSnapshot(
      `"x.yaml: launch.python: got "", expected a string of length at least 1"`,
    )
    expect(refused({ launch: 'launch: { env: { OMP_NUM_THREADS: 1 } }' })).toMatch(
      /^x\.yaml: launch\.env\.OMP_NUM_THREADS: got 1, expected a string .*quotes/,
    )
    expect(refused({ launch: 'launch: { env: { A-B: "1" } }' })).toMatch(
      /^x\.yaml: launch\.env\.A-B: got "1", expected .*name/,
    )
    const variants =
      'variants: { baseline: { config: a, env: { CUDA_VISIBLE_DEVICES: "2" } }, optimized: { config: b } }'
    expect(refused({ variants })).toMatch(
      /^x\.yaml: variants\.baseline\.env\.CUDA_VISIBLE_DEVICES: got "2", .*same GPUs.*launch\.env$/,
    )
  })

  test('of a long value shows its start', () => {
    expect(refused({ name: `name: ${'x'.repeat(1000)}` })).toMatch(
      /^x\.yaml: name: got "x{50,80}\.\.\., expected/,
    )
  })

  test('of an override whose key is none says how keys are written', () => {
    const variants = (key: string) =>
      `variants: { baseline: { config: a }, optimized: { config: b, set: { '${key}': 1 } } }`
    for (const key of ['speed..fused', 'speed.', '.speed', '"speed.fused', '"a"b', ''])
      expect(refused({ variants: variants(key) })).toMatch(
        /^x\.yaml: variants\.optimized\.set: got the key ".*", expected names with a dot .*double quotes/,
      )
    expect(refused({ variants: variants('a."__proto__"') })).toContain('no gate, setting or variable')
  })
})

describe('looks', () => {
  const look = (blocks: number, pass = 0.02, fail = pass) =>
    `{ blocks: ${blocks}, pass_level: ${pass}, fail_level: ${fail} }`
  const refusedLooks = (...looks: string[]) => refused({ design: `design: { looks: [${looks.join(', ')}] }` })

  test('may be given with their levels, in place of blocks', () => {
    const { design } = parsed({ design: `design: { looks: [${look(3, 0.01)}, ${look(5, 0.04)}] }` })
    expect(design.looks).toEqual([
      { blocks: 3, pass_level: 0.01, fail_level: 0.01 },
      { blocks: 5, pass_level: 0.04, fail_level: 0.04 },
    ])
  })

  test('of blocks share 5% of error, and those before 3 blocks can only fail', () => {
    const looksOfBlocks = (blocks: string) => parsed({ design: `design: { blocks: ${blocks} }` }).design.looks
    expect(looksOfBlocks('[2, 4]')).toMatchInlineSnapshot(`
      [
        {
          "blocks": 2,
          "fail_level": 0.02155,
          "pass_level": 0,
        },
        {
          "blocks": 4,
          "fail_level": 0.03253,
          "pass_level": 0.05,
        },
      ]
    `)
    expect(looksOfBlocks('[1, 3]')[0]).toEqual({ blocks: 1, pass_level: 0, fail_level: 0 })
    expect(looksOfBlocks('2')).toEqual([{ blocks: 2, pass_level: 0.05, fail_level: 0.05 }])
    const pass = looksOfBlocks('[4, 8, 12, 16]').map(({ pass_level }) => pass_level)
    expect(pass.reduce((sum, level) => sum + level, 0)).toBeLessThanOrEqual(0.05)
    expect(pass).toEqual(pass.toSorted((one, other) => one - other))
  })

  test('are refused beside blocks', () => {
    expect(refused({ design: `design: { blocks: 4, looks: [${look(4)}] }` })).toMatch(
      /^x\.yaml: design\.looks: got \[.*"blocks":4.*expected only one of design\.looks and design\.blocks/,
    )
  })

  test('grow', () => {
    expect(refused({ design: 'design: { blocks: [4, 4] }' })).toMatch(
      /^x\.yaml: design\.blocks: got \[4,4\], expected increasing .*\[2, 4, 6, 8\]$/,
    )
    expect(refusedLooks(look(6), look(4))).toMatch(
      /design\.looks: got .*, expected increasing numbers of blocks/,
    )
  })

  test('have levels that are error rates of at most 5%, and the last can pass', () => {
    expect(refusedLooks(look(4, 0.95))).toMatchInlineSnapshot(`
      "x.yaml: design.looks.0.pass_level: got 0.95, expected at most 0.05
      x.yaml: design.looks.0.fail_level: got 0.95, expected at most 0.05"
    `)
    expect(refusedLooks(look(4, 0.00001))).toContain('expected levels of 0, or of at least 0.0001')
    expect(refusedLooks(look(4, 0))).toContain('expected a last look that can pass')
    const { design } = parsed({ design: `design: { looks: [${look(2, 0, 0.01)}, ${look(4, 0.05, 0.04)}] }` })
    expect(design.looks[0]).toEqual({ blocks: 2, pass_level: 0, fail_level: 0.01 })
  })
})

describe('trainer', () => {
  test('is a module or a script, not both and not neither', () => {
    expect(parsed({ trainer: 'trainer: { script: train.py }' }).trainer).toEqual({ script: 'train.py' })
    expect(refused({ trainer: 'trainer: {}' })).toMatch(
      /^x\.yaml: trainer: got neither, expected .*one of module and script, or launch\.command/,
    )
    expect(refused({ trainer: 'trainer: { module: a, script: b.py }' })).toMatch(
      /^x\.yaml: trainer: got both, expected .*one of module and script$/,
    )
    expect(refused({ trainer: 'trainer: { module: "-c" }' })).toMatch(
      /^x\.yaml: trainer\.module: got "-c", expected a Python module/,
    )
  })
})

describe('launch', () => {
  test('on several nodes needs an engine that starts them', () => {
    expect(refused({ launch: 'launch: { nodes: 2 }' })).toMatch(
      /^x\.yaml: launch\.nodes: got 2, but engine: local .*Set launch\.engine: slurm, or nodes: 1$/,
    )
    expect(parsed({ launch: 'launch: { nodes: 2, engine: slurm }' }).launch.nodes).toBe(2)
  })

  test.each(['{ nnodes: 2, rdzv_endpoint: "h:29400" }', '{ nnodes: 1 }', '{ rdzv_endpoint: "h:29400" }'])(
    'with the keys of an earlier release, %s, says what replaces them',
    (launch) => {
      expect(refused({ launch: `launch: ${launch}` })).toMatch(
        /^x\.yaml: launch\.(nnodes|rdzv_endpoint): is replaced by launch\.nodes, with engine: slurm; /,
      )
    },
  )

  test.each([
    ['{ slurm: { partition: gpu } }', /launch\.slurm: is for engine: slurm/],
    [
      '{ engine: slurm, slurm: { options: ["--export=ALL"] } }',
      /got --export=ALL, which Speedproof sets itself/,
    ],
    [
      '{ engine: slurm, slurm: { options: ["-N4"] } }',
      /slurm\.options\.0: got "-N4", expected an option of sbatch/,
    ],
    ['{ engine: slurm, env: { SLURM_OVERLAP: "1" } }', /env\.SLURM_OVERLAP: steers Slurm/],
  ])('by Slurm refuses %s', (launch, expected) => {
    expect(refused({ launch: `launch: ${launch}` })).toMatch(expected)
  })
})
