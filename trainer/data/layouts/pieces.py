"""Reads selected trajectories of a chunked file piece by piece, in bounded memory."""

import math
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from trainer.data.layouts.stored import OpenArrays, open_hdf5

# Largest piece, unless one trajectory is larger. With smaller pieces, a chunk that spans many trajectories is
# decompressed more often.
PIECE_BYTES = 2**26
PIECES = 2  # kept while a file is read in order: threads that read in parallel may need two


class Pieces:
    """Reads the trajectories `rows` of a file, as states (trajectories, frames, fields, *grid).

    At most PIECES pieces stay in memory. With `keeps` all do: random access would otherwise decompress the
    same chunks again and again.
    """

    def __init__(
        self, path: Path, arrays: OpenArrays, shape: tuple[int, ...], rows: np.ndarray, *, keeps: bool
    ) -> None:
        self.path, self.arrays, self.shape, self.rows, self.keeps = path, arrays, shape, rows, keeps
        self.held: dict[tuple[int, int], np.ndarray] = {}
        self._lock = threading.Lock()
        self._cuts: dict[int, np.ndarray] = {}

    def take(self, rows: np.ndarray, frames: np.ndarray, every: int) -> np.ndarray:
        states = np.empty((len(rows), *self._shape(every)[1:]), dtype=np.float32)
        for chosen, piece, places in self._pieces_of(rows, every):
            states[chosen] = piece[places, frames[chosen]]
        return states

    def read_into(self, states: np.ndarray, rows: slice, every: int) -> None:
        for chosen, piece, places in self._pieces_of(np.arange(rows.start, rows.stop), every):
            states[chosen] = piece[places]

    def load(self, every: int) -> None:
        """Read everything now, so that forked processes share it."""
        for number in range(len(self._bounds(every)) - 1):
            self._piece(number, every)

    def _pieces_of(self, rows: np.ndarray, every: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield a mask of the rows in a piece, the piece, and the indices of these rows in it."""
        places = np.searchsorted(self.rows, rows)
        if not np.array_equal(self.rows[np.minimum(places, len(self.rows) - 1)], rows):
            raise IndexError(f"{self.path}: got a trajectory that the file was not opened for")
        bounds = self._bounds(every)
        numbers = np.searchsorted(bounds, places, side="right") - 1
        for number in np.unique(numbers):
            chosen = numbers == number
            yield chosen, self._piece(int(number), every), places[chosen] - bounds[number]

    def _piece(self, number: int, every: int) -> np.ndarray:
        with self._lock:
            if (found := self.held.get((number, every))) is not None:
                return found
            while not self.keeps and len(self.held) >= PIECES:
                self.held.pop(next(iter(self.held)))
            first, stop = self._bounds(every)[number : number + 2]
            piece = np.empty((stop - first, *self._shape(every)), dtype=np.float32)
            with open_hdf5(self.path):  # kept open, so that each array opens it quickly
                self.arrays.read_into(piece, self.rows[first:stop], every)
            self.held[number, every] = piece
            return piece

    def _bounds(self, every: int) -> np.ndarray:
        if every not in self._cuts:
            self._cuts[every] = self._cut(every)
        return self._cuts[every]

    def _cut(self, every: int) -> np.ndarray:
        """Return the index of the first row of each piece, and the end of the last.

        Rows that share chunks go into one piece if it has room for them.
        """
        most = max(1, PIECE_BYTES // (math.prod(self._shape(every)) * np.dtype(np.float32).itemsize))
        ends = np.flatnonzero(np.diff(self.rows // self.arrays.rows_together)) + 1
        bounds = [0]
        for first, stop in zip([0, *ends], [*ends, len(self.rows)], strict=True):
            if stop - bounds[-1] > most and first > bounds[-1]:
                bounds.append(first)
            while not self.keeps and stop - bounds[-1] > most:
                bounds.append(bounds[-1] + most)
        return np.array([*bounds, len(self.rows)])

    def _shape(self, every: int) -> tuple[int, ...]:
        """Of the states of one trajectory."""
        frames, fields, *grid = self.shape
        return (frames, fields, *(-(-points // every) for points in grid))
