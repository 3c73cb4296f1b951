"""Threads for reading files and for NumPy's arithmetic, both of which let go of the interpreter."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from trainer.process.ranks import is_first_rank
from trainer.process.terminal import show_progress

Item, Result = TypeVar("Item"), TypeVar("Result")

MOST_THREADS = 8  # of each rank


def on_threads(function: Callable[[Item], Result], items: Sequence[Item], progress: str) -> list[Result]:
    """Return function(item) of each, in order; `progress` says what they are."""
    threads = min(MOST_THREADS, os.cpu_count() or 1)
    shows = is_first_rank()  # all ranks do the same
    found: list[Result] = []
    with ThreadPoolExecutor(threads) as pool:
        for result in pool.map(function, items):
            found.append(result)
            if shows:
                show_progress(progress, len(found), len(items), stays=False)
    return found
