"""Several files of the same case as one, their trajectories one behind the other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from trainer.data.layouts.field_file import FieldFile
from trainer.data.layouts.stored import EVERY_FRAME, OpenArrays, Part


def joined(files: list[FieldFile]) -> FieldFile:
    """Return files of the same fields, frames and grid as one; the first one's path stands for all."""
    if len(files) == 1:
        return files[0]
    first, hashes = files[0], [file.content_hash for file in files]
    return replace(
        first,
        trajectories=sum(file.trajectories for file in files),
        content_hash=hash_of_hashes(hashes) if all(hashes) else None,
        open_arrays=partial(_open_arrays, files),
        read_statics=first.read_statics and partial(_read_statics, files),
        members=tuple(files),
    )


def hash_of_hashes(hashes: list[str]) -> str:
    return hashlib.sha256(" ".join(hashes).encode()).hexdigest()


class _Joined:
    """The open arrays of all files."""

    def __init__(self, arrays: list[OpenArrays], files: list[FieldFile]) -> None:
        self.arrays, self.files = arrays, files

    @property
    def rows_together(self) -> int:
        return max(part.rows_together for part in self.arrays)

    def take(self, rows: np.ndarray, frames: np.ndarray, every: int) -> np.ndarray:
        states = None
        for number, chosen, own in _by_file(self.files, rows):
            found = self.arrays[number].take(own, frames[chosen], every)
            if states is None:
                states = np.empty((len(rows), *found.shape[1:]), dtype=np.float32)
            states[chosen] = found
        return states

    def read_into(self, states: np.ndarray, rows: Part, every: int, frames: slice = EVERY_FRAME) -> None:
        wanted = np.arange(sum(file.trajectories for file in self.files))[rows]
        for number, chosen, own in _by_file(self.files, wanted):  # in ascending order, so each is a stretch
            places = np.flatnonzero(chosen)
            self.arrays[number].read_into(states[places[0] : places[-1] + 1], own, every, frames)


def _by_file(files: list[FieldFile], rows: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield the number of each file that has some of the rows, a mask of them, and their rows in the file."""
    first = 0
    for number, file in enumerate(files):
        chosen = (rows >= first) & (rows < first + file.trajectories)
        if chosen.any():
            yield number, chosen, rows[chosen] - first
        first += file.trajectories


def _open_arrays(files: list[FieldFile], _path: Path) -> _Joined:
    return _Joined([file.open_arrays(file.path) for file in files], files)


def _read_statics(files: list[FieldFile], _path: Path, rows: np.ndarray, every: int) -> np.ndarray:
    """Rows in ascending order."""
    parts = (
        files[number].read_statics(files[number].path, own, every) for number, _, own in _by_file(files, rows)
    )
    return np.concatenate(list(parts))
