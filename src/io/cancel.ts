// The runner's cancel, and Ctrl-C, as an AbortSignal.

/** After this, a first SIGINT or SIGTERM no longer ends the process: whoever holds the signal must. */
export function cancelOnSignals(): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => controller.abort())
  return controller.signal
}
