"""How far long work is: a bar on a terminal, elsewhere a line a minute."""

import sys
import time

WIDTH = 30
SECONDS_BETWEEN_LINES = 60
ERASE_REST = "\x1b[K"  # of the line: what was drawn there before may have been longer

_told = time.monotonic()
_is_quiet = False
_is_open = False  # a bar that something else may be printed behind


def show_progress(what: str, done: int, total: int, *, stays: bool = True) -> None:
    """Draw the bar over the one before, or tell, if it is time to.

    The last one ends its line; if it is of a part of other work it goes and leaves the line to that: `stays`.
    """
    global _is_open
    if _is_quiet:
        return
    if not sys.stderr.isatty():
        _tell(f"{what} {done} of {total}")
        return
    filled = WIDTH * done // total
    bar = "#" * filled + "." * (WIDTH - filled)
    text = f"{what} [{bar}] {done} of {total}"
    if done == total:
        text = f"{text}\n" if stays else ""
    _is_open = done < total
    print(f"\r{ERASE_REST}{text}", end="", file=sys.stderr, flush=True)


def end_bar() -> None:
    """Before anything else is printed; a bar that is not whole stays as it is."""
    global _is_open
    if _is_open:
        print(file=sys.stderr, flush=True)
    _is_open = False


def be_quiet() -> None:
    """Of processes side by side the one that started them shows how far they are."""
    global _is_quiet
    _is_quiet = True


def _tell(text: str) -> None:
    global _told
    if time.monotonic() - _told < SECONDS_BETWEEN_LINES:
        return
    _told = time.monotonic()
    print(text, file=sys.stderr, flush=True)
