"""How far long work is: a bar on a terminal, elsewhere a line a minute."""

import sys
import time

WIDTH = 30
SECONDS_BETWEEN_LINES = 60

_told = time.monotonic()


def show_progress(what: str, done: int, total: int) -> None:
    """Draw the bar over the one before, of which the last ends its line; or tell, if it is time to."""
    if not sys.stderr.isatty():
        _tell(f"{what} {done} of {total}")
        return
    filled = WIDTH * done // total
    bar = "#" * filled + "." * (WIDTH - filled)
    end = "\n" if done == total else ""
    print(f"\r{what} [{bar}] {done} of {total}", end=end, file=sys.stderr, flush=True)


def _tell(text: str) -> None:
    global _told
    if time.monotonic() - _told < SECONDS_BETWEEN_LINES:
        return
    _told = time.monotonic()
    print(text, file=sys.stderr, flush=True)
