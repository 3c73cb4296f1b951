// A config file in a format that is not read, among the settings of a training.

/** The key of its hash, in place of the keys that it has. */
export const OPAQUE_FILE = 'config file'
