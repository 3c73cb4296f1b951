"""Darcy flow: `nu` (N, X, Y), the coefficient a, and `tensor` (N, 1, X, Y), the solution u."""

from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from trainer.data.layouts.field_file import (
    FieldFile,
    numeric_attributes,
    require_dataset,
    spacing_of,
    stored_hash,
)
from trainer.data.layouts.stored import (
    EVERY_FRAME,
    Array,
    Part,
    copy_part,
    map_dataset,
    open_hdf5,
    rows_of_chunks,
)
from trainer.errors import ConfigError

KEYS = {"nu", "tensor"}


class GivenAndAsked:
    """Frame 0 is the coefficient (N, X, Y), frame 1 the solution (N, 1, X, Y)."""

    def __init__(self, coefficient: Array, solution: Array) -> None:
        self.frames = (coefficient, solution)

    @property
    def rows_together(self) -> int:
        return max(map(rows_of_chunks, self.frames))

    def take(self, rows: np.ndarray, frames: np.ndarray, every: int) -> np.ndarray:
        grid = self.frames[0][0, ::every, ::every].shape
        states = np.empty((len(rows), 1, *grid), dtype=np.float32)
        for state, row, frame in zip(states, rows, frames, strict=True):
            state[:] = self.frames[frame][row, ..., ::every, ::every]
        return states

    def read_into(self, states: np.ndarray, rows: Part, every: int, frames: slice = EVERY_FRAME) -> None:
        cut = (slice(None, None, every),) * 2
        for place, frame in enumerate(range(2)[frames]):
            if frame == 0:
                copy_part(states[:, place, 0], self.frames[0], rows, *cut)
            else:
                copy_part(states[:, place], self.frames[1], rows, slice(None), *cut)


def write_darcy(
    path: Path,
    coefficient: np.ndarray,
    solution: np.ndarray,
    coordinates: np.ndarray,
    parameters: Mapping[str, float],
    content_hash: str,
) -> None:
    """Write a file; coefficient and solution are (N, X, Y), the coordinates serve both axes."""
    with h5py.File(path, "w") as file:
        file.create_dataset("nu", data=coefficient.astype(np.float32, copy=False))
        file.create_dataset("tensor", data=solution.astype(np.float32, copy=False)[:, None])
        for key in ("x-coordinate", "y-coordinate"):
            file.create_dataset(key, data=coordinates.astype(np.float32))
        file.attrs.update(parameters)
        file.attrs["content_hash"] = content_hash


def describe(path: Path) -> FieldFile:
    with open_hdf5(path) as file:
        coefficient = require_dataset(path, file, "nu", "N, X, Y")
        solution = require_dataset(path, file, "tensor", "N, 1, X, Y")
        trajectories, *grid = coefficient.shape
        if solution.shape != (trajectories, 1, *grid):
            raise ConfigError(
                f"{path}: tensor: got shape {solution.shape}, expected {(trajectories, 1, *grid)} as nu has. "
                "Generate or download the file again"
            )
        axes = zip(("x-coordinate", "y-coordinate"), grid, strict=True)
        return FieldFile(
            path=path,
            layout="darcy",
            fields=("u",),
            keys=("nu", "tensor"),
            trajectories=trajectories,
            frames=2,
            grid=tuple(grid),
            spacing=tuple(spacing_of(path, file, key, points) for key, points in axes),
            frame_seconds=None,
            parameters=numeric_attributes(file),
            content_hash=stored_hash(file),
            open_arrays=open_arrays,
        )


def open_arrays(path: Path) -> GivenAndAsked:
    with open_hdf5(path) as file:
        return GivenAndAsked(map_dataset(path, file["nu"]), map_dataset(path, file["tensor"]))
