// launch.command, trainer.arguments and trainer.speed_keys: which of them go together, and what each refusal says.
import { expect, test } from 'vitest'
import { parseExperiment } from '../../../src/config/parse-experiment.ts'
import { refusal } from '../../fixtures/refusal.ts'

interface Parts {
  readonly trainer?: string
  readonly launch?: string
  readonly variants?: string
}

const WITH_CONFIG = 'baseline: { config: a.yaml }, optimized: { config: b.yaml }'
const BY_FLAGS = 'baseline: {}, optimized: { set: { bf16: true } }'

const parsed = ({ trainer = '', launch = '', variants = WITH_CONFIG }: Parts) =>
  parseExperiment(
    `name: x\nkind: same-work\ntrainer: { ${trainer} }\nlaunch: { ${launch} }\nvariants: { ${variants} }`,
    'x.yaml',
  )
const refused = (parts: Parts) => refusal(() => parsed(parts))

test('a command needs no module or script', () => {
  const words = ['accelerate', 'launch', 'train.py', '--config={config}', '--x={{}}']
  const { launch, trainer } = parsed({ launch: `command: ${JSON.stringify(words)}` })
  expect(launch.command).toEqual(words)
  expect(trainer).toEqual({})
})

test('a trainer that takes flags needs no config', () => {
  const trainer = 'script: train.py, arguments: "--{key}={value}"'
  expect(parsed({ trainer, variants: BY_FLAGS }).variants.baseline.config).toBeUndefined()
})

test.each<[string, Parts, RegExp]>([
  [
    'an unknown placeholder',
    { launch: 'command: [python, train.py, "{config}", "--lr={lr}"]' },
    /^x\.yaml: launch\.command: got \{lr\} in "--lr=\{lr\}", expected one of \{config\} .*\{arguments\}; write \{\{ and \}\} for braces$/,
  ],
  [
    'a single brace',
    { launch: 'command: [python, train.py, "{config}", "a}"]' },
    /launch\.command: got \} in "a\}"/,
  ],
  [
    'arguments inside of a word',
    { launch: 'command: [python, "{config}", "--x={arguments}"]' },
    /got \{arguments\} in "--x=\{arguments\}", expected it as a word of its own/,
  ],
  [
    'arguments twice',
    {
      trainer: 'arguments: "{key}={value}"',
      launch: 'command: [python, "{config}", "{arguments}", "{arguments}"]',
    },
    /got \{arguments\} 2 times, expected it once/,
  ],
  [
    'arguments without their pattern',
    { launch: 'command: [python, "{config}", "{arguments}"]' },
    /has \{arguments\}, but trainer\.arguments does not say/,
  ],
  [
    'a script besides a command',
    { trainer: 'script: train.py', launch: 'command: [python, train.py, "{config}"]' },
    /trainer\.script: launch\.command already names the program; remove one/,
  ],
  [
    'a subcommand besides a command',
    {
      trainer: 'script: train.py, command: fit, validate_command: check',
      launch: 'command: [python, train.py, "{config}"]',
    },
    /trainer\.command: got "fit" besides launch\.command.*move it there/,
  ],
  [
    'an evaluate_command of no program',
    { trainer: 'evaluate_command: evaluate', launch: 'command: [python, train.py, "{config}"]' },
    /evaluate_command are given to a module or a script; name one/,
  ],
  [
    'several nodes besides a command',
    { launch: 'command: [python, train.py, "{config}"], engine: slurm, nodes: 2' },
    /launch\.nodes: more than one needs torchrun/,
  ],
  [
    'a config that is not handed over',
    { launch: 'command: [python, train.py]' },
    /variants\.baseline\.config: got "a\.yaml", but launch\.command does not hand it over; add \{config\}/,
  ],
  [
    'a config that is missing',
    { launch: 'command: [python, train.py, "{config}"]', variants: 'baseline: {}, optimized: {}' },
    /variants\.baseline\.config: missing, but launch\.command has \{config\}/,
  ],
  [
    'settings that reach nobody',
    { trainer: 'script: train.py', variants: BY_FLAGS },
    /variants\.optimized\.set: does not reach the trainer; name a config file.*trainer\.arguments/,
  ],
  [
    'a pattern without a key',
    { trainer: 'script: train.py, arguments: "--{value}"' },
    /trainer\.arguments: got "--\{value\}", expected \{key\} and \{value\}, each once/,
  ],
  [
    'flags besides a resolved config',
    { trainer: 'script: train.py, arguments: "{key}={value}", validate_command: check' },
    /trainer\.arguments: .*remove one of the two/,
  ],
  [
    'a config that validate_command lacks',
    { trainer: 'script: train.py, validate_command: check', variants: 'baseline: {}, optimized: {}' },
    /variants\.baseline\.config: missing; trainer\.validate_command needs a file/,
  ],
  [
    'null as a flag',
    {
      trainer: 'script: train.py, arguments: "{key}={value}"',
      variants: 'baseline: {}, optimized: { set: { a: null } }',
    },
    /variants\.optimized\.set: a: got null, .*in quotes/,
  ],
  [
    'a mapping as a flag',
    {
      trainer: 'script: train.py, arguments: "{key}={value}"',
      variants: 'baseline: {}, optimized: { set: { a: { b: 1 } } }',
    },
    /variants\.optimized\.set: a: got a mapping, .*such as a\.b/,
  ],
  [
    'a speed key that is none',
    { trainer: 'script: train.py, speed_keys: [a..b]' },
    /trainer\.speed_keys: got the key "a\.\.b"/,
  ],
])('%s is refused', (_, parts, message) => {
  expect(refused(parts)).toMatch(message)
})
