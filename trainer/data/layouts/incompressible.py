"""Incompressible flow: `velocity` (N, T, X, Y, 2), `particles` (N, T, X, Y, 1), `force` (N, X, Y, 2).

Its times `t` are (N, T); the force does not change with them. There are no coordinates: the domain is the
unit square.
"""

from pathlib import Path

import h5py
import numpy as np

from trainer.data.layouts.field_file import (
    FieldFile,
    interval_of_times,
    numeric_attributes,
    require_dataset,
    stored_hash,
)
from trainer.data.layouts.stored import (
    EVERY_FRAME,
    Array,
    Part,
    copy_part,
    map_dataset,
    open_hdf5,
    read_part,
    rows_of_chunks,
)
from trainer.errors import ConfigError

KEYS = {"velocity", "particles", "force"}
MOVING = ("particles", "velocity")


class ParticlesAndVelocity:
    """Particles (N, T, X, Y, 1) and velocity (N, T, X, Y, 2) as three fields."""

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays = arrays

    @property
    def rows_together(self) -> int:
        return max(map(rows_of_chunks, self.arrays))

    def take(self, rows: np.ndarray, frames: np.ndarray, every: int) -> np.ndarray:
        cut = (slice(None, None, every),) * 2
        fields = np.concatenate([array[(rows, frames, *cut)] for array in self.arrays], axis=-1)
        return np.moveaxis(fields, -1, 1)

    def read_into(self, states: np.ndarray, rows: Part, every: int, frames: slice = EVERY_FRAME) -> None:
        cut, first = (slice(None, None, every),) * 2, 0
        for array in self.arrays:
            stop = first + array.shape[-1]
            place = np.moveaxis(states[:, :, first:stop], 2, -1)
            copy_part(place, array, rows, frames, *cut, slice(None))
            first = stop


def write_incompressible(
    path: Path,
    particles: np.ndarray,
    velocity: np.ndarray,
    force: np.ndarray,
    t: np.ndarray,
    content_hash: str,
) -> None:
    """Write a file; shapes are those of its datasets, but for the times, which serve every trajectory."""
    with h5py.File(path, "w") as file:
        for key, field in {"particles": particles, "velocity": velocity, "force": force}.items():
            file.create_dataset(key, data=field.astype(np.float32, copy=False))
        file.create_dataset("t", data=np.tile(t.astype(np.float32), (len(particles), 1)))
        file.attrs["content_hash"] = content_hash


def describe(path: Path) -> FieldFile:
    with open_hdf5(path) as file:
        velocity = require_dataset(path, file, "velocity", "N, T, X, Y, 2").shape
        expected = {"velocity": (*velocity[:4], 2), "particles": (*velocity[:4], 1)}
        expected["force"] = (velocity[0], *velocity[2:4], 2)
        for key, shape in expected.items():
            axes = "N, T, X, Y, 2" if len(shape) == 5 else "N, X, Y, 2"
            if (found := require_dataset(path, file, key, axes).shape) != shape:
                raise ConfigError(
                    f"{path}: {key}: got shape {found}, expected {shape}, since velocity is {velocity}. "
                    "Generate or download the file again"
                )
        return FieldFile(
            path=path,
            layout="incompressible",
            fields=("particles", "Vx", "Vy"),
            keys=MOVING,
            trajectories=velocity[0],
            frames=velocity[1],
            grid=velocity[2:4],
            spacing=tuple(1 / points for points in velocity[2:4]),
            frame_seconds=_interval(path, file, velocity[0], velocity[1]),
            parameters=numeric_attributes(file),
            content_hash=stored_hash(file),
            open_arrays=open_arrays,
            hashed=(*MOVING, "force"),
            statics=("force_x", "force_y"),
            read_statics=read_force,
        )


def _interval(path: Path, file: h5py.File, trajectories: int, frames: int) -> float:
    """Seconds between frames, which must be the same in every trajectory."""
    found = file.get("t")
    if not isinstance(found, h5py.Dataset) or found.shape[:1] != (trajectories,) or found.ndim != 2:
        shape = getattr(found, "shape", "no dataset")
        raise ConfigError(
            f"{path}: t: got {shape}, expected ({trajectories}, {frames}), the times of the frames of every "
            "trajectory. Write them"
        )
    steps = {interval_of_times(path, "t", row, frames) for row in read_part(path, found, ())}
    least, most = min(steps), max(steps)
    if most - least > 1e-3 * least:
        raise ConfigError(
            f"{path}: t: got {least:.6g} to {most:.6g} seconds between frames, expected the same in every "
            "trajectory. Keep only trajectories with one interval in a file"
        )
    return steps.pop() if len(steps) == 1 else (least + most) / 2


def open_arrays(path: Path) -> ParticlesAndVelocity:
    with open_hdf5(path) as file:
        return ParticlesAndVelocity([map_dataset(path, file[key]) for key in MOVING])


def read_force(path: Path, rows: np.ndarray, every: int) -> np.ndarray:
    """Return the force of some trajectories, (n, 2, X, Y)."""
    with open_hdf5(path) as file:
        chosen = [
            read_part(path, file["force"], (slice(row, row + 1), *(slice(None, None, every),) * 2))
            for row in rows
        ]
    return np.ascontiguousarray(np.moveaxis(np.concatenate(chosen), -1, 1))
