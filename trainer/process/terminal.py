"""Writes progress bars and single lines to the terminal. A closed terminal does not stop the training."""

from __future__ import annotations

import os
import select
import sys
import time
from io import TextIOBase
from pathlib import Path

from trainer.errors import CannotWrite

WIDTH = 30
SECONDS_BETWEEN_LINES = 60
ERASE_REST = "\x1b[K"  # of the line: what was drawn there before may have been longer

_told = time.monotonic()
_is_quiet = False
_is_open = False  # a bar that something else may be said behind


def show_progress(what: str, done: int, total: int, *, stays: bool = True) -> None:
    """Redraw the progress bar; where standard error is no terminal, write one line per minute.

    The finished bar ends its line. Without `stays` it is erased: it was part of other work with its own bar.
    """
    global _is_open, _told
    if _is_quiet or sys.stderr is None:
        return
    if not sys.stderr.isatty():
        if time.monotonic() - _told >= SECONDS_BETWEEN_LINES:
            _told = time.monotonic()
            say(f"{what} {done} of {total}")
        return
    filled = WIDTH * done // total
    bar = "#" * filled + "." * (WIDTH - filled)
    text = f"{what} [{bar}] {done} of {total}"
    if done == total:
        text = f"{text}\n" if stays else ""
    _is_open = done < total
    _write(sys.stderr, f"\r{ERASE_REST}{text}")


def say(text: str, stream: TextIOBase | None = None) -> None:
    """Write a line to standard error, or where it is asked to, below a bar that is drawn."""
    global _is_open
    if _is_open:
        _write(sys.stderr, "\n")
    _is_open = False
    _write(stream or sys.stderr, f"{text}\n")


def answer(text: str) -> None:
    """Write to standard output what a command was asked for; CannotWrite where the system refuses."""
    try:
        print(text, flush=True)  # noqa: T201
    except BrokenPipeError:  # a reader that has had enough
        raise
    except OSError as error:
        raise CannotWrite("the output", Path("standard output"), error, resumable=False) from error


def leave_unread() -> bool:
    """Whether the reader of standard output, such as head, closed the pipe; then the rest is dropped."""
    watcher = select.poll()
    try:
        watcher.register(sys.stdout.fileno(), 0)
    except (AttributeError, OSError, ValueError):  # closed, or no file
        return False
    is_unread = any(event & select.POLLERR for _, event in watcher.poll(0))
    if is_unread:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
    return is_unread


def be_quiet() -> None:
    """Of processes side by side the one that started them shows how far they are."""
    global _is_quiet
    _is_quiet = True


def _write(stream: TextIOBase | None, text: str) -> None:
    """Behind a reader that went away, a full disk or a closed stream nothing is said again."""
    if stream is None:
        return
    try:
        stream.write(text)
        stream.flush()
    except ValueError:  # closed
        return
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # also for what it still holds at exit
