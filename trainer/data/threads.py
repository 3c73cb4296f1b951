"""Threads for reading files and for NumPy's arithmetic, both of which let go of the interpreter."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item, Result = TypeVar("Item"), TypeVar("Result")

MOST_THREADS = 8  # of each rank


def on_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield function(item) in order, a few ahead of what is taken."""
    threads = min(MOST_THREADS, os.cpu_count() or 1)
    waiting = iter(items)
    with ThreadPoolExecutor(threads) as pool:
        while group := list(islice(waiting, threads)):
            yield from pool.map(function, group)
