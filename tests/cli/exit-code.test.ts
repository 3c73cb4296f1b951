// What the command line ends with, for each kind of error.
import { expect, test, vi } from 'vitest'
import { exitCodeOf } from '../../src/cli/exit-code.ts'
import { CancelledError, ConfigError, RunError, UnfitMachineError } from '../../src/errors.ts'

test.each([
  ['bad input', new ConfigError('x'), 2],
  ['a run that cannot go on', new RunError('x'), 1],
  ['a machine that is busy or unfit, as an invalid comparison', new UnfitMachineError('x'), 4],
  ['a cancel', new CancelledError('x'), 130],
  ['a bug of ours', new Error('x'), 70],
])('%s', (_, error, code) => {
  const said = vi.spyOn(console, 'error').mockImplementation(() => {})
  expect(exitCodeOf(error)).toBe(code)
  expect(said).toHaveBeenCalledOnce()
  said.mockRestore()
})
