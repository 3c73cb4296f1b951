"""Seconds since this process started, as the interpreter saw it."""

import time

_started = time.perf_counter()


def start_process_clock() -> None:
    """Take this moment as the start of the process."""
    global _started
    _started = time.perf_counter()


def seconds_since_start() -> float:
    return time.perf_counter() - _started
