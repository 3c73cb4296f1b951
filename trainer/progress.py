"""A bar on the terminal that says how far long work is; nothing where nobody watches."""

import sys

WIDTH = 30


def show_progress(what: str, done: int, total: int) -> None:
    """Draw the bar over the one before; the last ends its line."""
    if not sys.stderr.isatty():
        return
    filled = WIDTH * done // total
    bar = "#" * filled + "." * (WIDTH - filled)
    end = "\n" if done == total else ""
    print(f"\r{what} [{bar}] {done} of {total}", end=end, file=sys.stderr, flush=True)
