"""Threads for reading files and for NumPy's arithmetic, both of which let go of the interpreter."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from trainer.ranks import is_first_rank
from trainer.terminal import show_progress

Item, Result = TypeVar("Item"), TypeVar("Result")

MOST_THREADS = 8  # of each rank


def on_threads(function: Callable[[Item], Result], items: Sequence[Item], progress: str) -> Iterator[Result]:
    """Yield function(item) in order; `progress` says what each of them is."""
    threads = min(MOST_THREADS, os.cpu_count() or 1)
    shows = is_first_rank()  # all ranks do the same
    with ThreadPoolExecutor(threads) as pool:
        for done, result in enumerate(pool.map(function, items)):
            if shows:
                show_progress(progress, done, len(items), stays=False)
            yield result
    if shows:
        show_progress(progress, len(items), len(items), stays=False)
