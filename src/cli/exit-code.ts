// What the command line ends with, and what it says of an error before.
import { CommanderError } from 'commander'
import { CancelledError, ConfigError, RunError, UnfitMachineError } from '../errors.ts'

export const EXIT_CODES = { passed: 0, failed: 1, inconclusive: 3, invalid: 4 } as const
export const EXIT_BAD_INPUT = 2
export const EXIT_CANCELLED = 130
const EXIT_INTERNAL_ERROR = 70

/** Prints what a person can act on. */
export function exitCodeOf(error: unknown): number {
  // commander has printed its own message; asking for help is no error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_BAD_INPUT
  if (error instanceof ConfigError) {
    console.error(error.message)
    return EXIT_BAD_INPUT
  }
  if (error instanceof CancelledError) {
    console.error(error.message)
    return EXIT_CANCELLED
  }
  if (error instanceof RunError) {
    console.error(error.message)
    return error instanceof UnfitMachineError ? EXIT_CODES.invalid : EXIT_CODES.failed
  }
  console.error('Speedproof has a bug; please report it with this text:', error)
  return EXIT_INTERNAL_ERROR
}
