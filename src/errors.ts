// The errors that are not our bug; anything else that is thrown is.

/** Bad input: the text names the input, the value found and the remedy. Nothing was run. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** Bad input: what is in the folder cannot go on, while the same call without --resume may. */
export class ResumeError extends ConfigError {}

/** The machine or a training let us down after the input was accepted. What was measured before is kept. */
export class RunError extends Error {
  override readonly name = 'RunError'
}

/** A training has touched what is not its own, so no verdict of this call holds. */
export class InterferenceError extends RunError {}

/** Nothing, or nothing more, can be measured on this machine as it is now. */
export class UnfitMachineError extends RunError {}

/** Somebody stopped us before anything was launched; later than that, a cancel is an outcome. */
export class CancelledError extends Error {
  override readonly name = 'CancelledError'
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
