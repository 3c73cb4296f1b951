// A call that is given again, to go on or to start.
import { expect, test } from 'vitest'
import { callAgain } from '../../src/cli/options.ts'

test.each([
  [['run'], 'speedproof run --resume', 'speedproof run'],
  [
    ['run', 'a b.yaml', '--out', 'x'],
    "speedproof run --resume 'a b.yaml' --out x",
    "speedproof run 'a b.yaml' --out x",
  ],
  [['run', '--', '-a.yaml'], 'speedproof run --resume -- -a.yaml', 'speedproof run -- -a.yaml'],
  [['run', '--', '--retry'], 'speedproof run --resume -- --retry', 'speedproof run -- --retry'],
  [
    ['ladder', '--set', 'speed.nccl=[A=1]', '--resume', '--retry'],
    "speedproof ladder --resume --set 'speed.nccl=[A=1]' --retry",
    "speedproof ladder --set 'speed.nccl=[A=1]'",
  ],
])('%j', (words, resuming, restarting) => {
  expect(callAgain(words, 'resume')).toBe(resuming)
  expect(callAgain(words, 'restart')).toBe(restarting)
})
