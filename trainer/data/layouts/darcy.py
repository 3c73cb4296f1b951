"""Darcy flow: `nu` (N, X, Y), the coefficient a, and `tensor` (N, 1, X, Y), the solution u."""

from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from trainer.data.layouts.field_file import (
    FieldFile,
    map_dataset,
    numeric_attributes,
    open_hdf5,
    require_dataset,
    spacing_of,
    stored_hash,
)
from trainer.errors import ConfigError

KEYS = {"nu", "tensor"}


class GivenAndAsked:
    """Frame 0 is the coefficient, frame 1 the solution."""

    def __init__(self, coefficient: np.ndarray, solution: np.ndarray) -> None:
        self.frames = (coefficient, solution[:, 0])

    def take(self, rows: np.ndarray, frames: np.ndarray, every: int) -> np.ndarray:
        grid = self.frames[0][0, ::every, ::every].shape
        states = np.empty((len(rows), 1, *grid), dtype=np.float32)
        for state, row, frame in zip(states, rows, frames, strict=True):
            state[0] = self.frames[frame][row, ::every, ::every]
        return states

    def read_into(self, states: np.ndarray, rows: slice, every: int) -> None:
        for frame, fields in enumerate(self.frames):
            states[:, frame, 0] = fields[rows, ::every, ::every]


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
            open_states=open_states,
        )


def open_states(path: Path) -> GivenAndAsked:
    with open_hdf5(path) as file:
        return GivenAndAsked(map_dataset(path, file["nu"]), map_dataset(path, file["tensor"]))
