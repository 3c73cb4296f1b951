// Reads what an earlier call recorded, of an experiment or of a ladder.
import { ConfigError, ResumeError } from '../../errors.ts'

/** A record that cannot be read can be begun again. */
export async function readToResume<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    throw error instanceof ConfigError
      ? new ResumeError(`--resume: ${error.message}. Or start without --resume`)
      : error
  }
}
