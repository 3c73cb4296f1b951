"""Reads a chunked file in pieces, in bounded memory."""

import math
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from trainer.data.layouts.stored import OpenArrays, open_hdf5

# Largest piece, unless one trajectory is larger. With smaller pieces, a chunk that spans many trajectories is
# decompressed more often.
PIECE_BYTES = 2**26
LARGEST_PIECE = 2**28  # of a file that is read in order; trajectories that are larger are cut
PIECES = 2  # kept while a file is read in order: threads that read in parallel may need two


class Pieces:
    """Reads the trajectories `rows` of a file, as states (trajectories, frames, fields, *grid).

    At most PIECES pieces stay in memory. With `keeps` all do: random access would otherwise decompress the
    same chunks again and again. With `most_bytes` too, those used last do, and no piece is larger than half
    of that: trajectories that are larger are cut into stretches of frames.
    """

    def __init__(
        self,
        path: Path,
        arrays: OpenArrays,
        shape: tuple[int, ...],
        rows: np.ndarray,
        *,
        keeps: bool,
        most_bytes: int | None = None,
    ) -> None:
        self.path, self.arrays, self.shape, self.rows = path, arrays, shape, rows
        self.keeps, self.most_bytes = keeps, most_bytes if keeps else None
        self.held: dict[tuple[int, int, int], np.ndarray] = {}  # those used last at the end
        self._lock = threading.Lock()
        self._cuts: dict[int, np.ndarray] = {}

    def take(self, rows: np.ndarray, frames: np.ndarray, every: int) -> np.ndarray:
        states = np.empty((len(rows), *self._shape(every)[1:]), dtype=np.float32)
        stretch = self._frames_together(every)
        for chosen, number, places in self._pieces_of(rows, every):
            of_frames = frames[chosen] // stretch
            for part in np.unique(of_frames):
                mine = chosen[of_frames == part]
                piece = self._piece(number, int(part), every)
                states[mine] = piece[places[of_frames == part], frames[mine] - part * stretch]
        return states

    def read_into(self, states: np.ndarray, rows: slice, every: int) -> None:
        stretch = self._frames_together(every)
        for chosen, number, places in self._pieces_of(np.arange(rows.start, rows.stop), every):
            for part, first in enumerate(range(0, self.shape[0], stretch)):
                states[chosen, first : first + stretch] = self._piece(number, part, every)[places]

    def load(self, every: int) -> None:
        """Read everything now, so that forked processes share it; nothing where not all of it is kept."""
        for number in range(len(self._bounds(every)) - 1) if self.most_bytes is None else ():
            self._piece(number, 0, every)

    def _pieces_of(self, rows: np.ndarray, every: int) -> Iterator[tuple[np.ndarray, int, np.ndarray]]:
        """Yield which of the rows are in a piece, its number, and the indices of these rows in it."""
        places = np.searchsorted(self.rows, rows)
        if not np.array_equal(self.rows[np.minimum(places, len(self.rows) - 1)], rows):
            raise IndexError(f"{self.path}: got a trajectory that the file was not opened for")
        bounds = self._bounds(every)
        numbers = np.searchsorted(bounds, places, side="right") - 1
        for number in np.unique(numbers):
            chosen = np.flatnonzero(numbers == number)
            yield chosen, int(number), places[chosen] - bounds[number]

    def _piece(self, number: int, part: int, every: int) -> np.ndarray:
        with self._lock:
            key = number, part, every
            if (found := self.held.pop(key, None)) is None:
                found = self._read(number, part, every)
            self.held[key] = found
            return found

    def _read(self, number: int, part: int, every: int) -> np.ndarray:
        first, stop = self._bounds(every)[number : number + 2].tolist()
        stretch, (frames, *state) = self._frames_together(every), self._shape(every)
        chosen = slice(part * stretch, min(frames, (part + 1) * stretch))
        shape = (stop - first, chosen.stop - chosen.start, *state)
        self._make_room(math.prod(shape) * np.dtype(np.float32).itemsize)
        piece = np.empty(shape, dtype=np.float32)
        with open_hdf5(self.path):  # kept open, so that each array opens it quickly
            self.arrays.read_into(piece, self.rows[first:stop], every, chosen)
        return piece

    def _make_room(self, needed: int) -> None:
        while self.held and (
            len(self.held) >= PIECES
            if not self.keeps
            else self.most_bytes is not None
            and sum(piece.nbytes for piece in self.held.values()) + needed > self.most_bytes
        ):
            self.held.pop(next(iter(self.held)))

    def _bounds(self, every: int) -> np.ndarray:
        if every not in self._cuts:
            self._cuts[every] = self._cut(every)
        return self._cuts[every]

    def _cut(self, every: int) -> np.ndarray:
        """Return the index of the first row of each piece, and the end of the last.

        Rows that share chunks go into one piece if it has room for them.
        """
        most = max(1, self._piece_bytes() // self._trajectory_bytes(every))
        ends = np.flatnonzero(np.diff(self.rows // self.arrays.rows_together)) + 1
        bounds = [0]
        for first, stop in zip([0, *ends], [*ends, len(self.rows)], strict=True):
            if stop - bounds[-1] > most and first > bounds[-1]:
                bounds.append(first)
            while not (self.keeps and self.most_bytes is None) and stop - bounds[-1] > most:
                bounds.append(bounds[-1] + most)
        return np.array([*bounds, len(self.rows)])

    def _frames_together(self, every: int) -> int:
        """Frames of a piece: all of them, if trajectories fit into the bound."""
        frames, most = self.shape[0], LARGEST_PIECE if self.most_bytes is None else self._piece_bytes()
        if (self.keeps and self.most_bytes is None) or self._trajectory_bytes(every) <= most:
            return frames
        return max(1, frames * most // self._trajectory_bytes(every))

    def _piece_bytes(self) -> int:
        return PIECE_BYTES if self.most_bytes is None else min(PIECE_BYTES, self.most_bytes // 2)

    def _trajectory_bytes(self, every: int) -> int:
        return math.prod(self._shape(every)) * np.dtype(np.float32).itemsize

    def _shape(self, every: int) -> tuple[int, ...]:
        """Of the states of one trajectory."""
        frames, fields, *grid = self.shape
        return (frames, fields, *(-(-points // every) for points in grid))
