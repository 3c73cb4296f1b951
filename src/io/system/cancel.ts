// The runner's cancel, Ctrl-C and a terminal that is gone, as an AbortSignal.

/** A third signal ends this process at once: the post step, or the reaper at our death, sweeps what is left. */
const SIGNALS_TO_GIVE_UP = 3
const EXIT_CANCELLED = 130

/** After this, a first SIGINT, SIGTERM or SIGHUP no longer ends the process: the holder of the signal must. */
export function cancelOnSignals(): AbortSignal {
  const controller = new AbortController()
  let received = 0
  const cancel = () => {
    received += 1
    controller.abort()
    if (received >= SIGNALS_TO_GIVE_UP) process.exit(EXIT_CANCELLED)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, cancel)
  return controller.signal
}
