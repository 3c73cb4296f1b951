"""One group per trajectory, `0000`, `0001`, ...: `data` (T, X[, Y], C) and `grid/x`, `grid/y`, `grid/t`."""

import math
import re
from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from trainer.data.layouts.field_file import (
    FieldFile,
    frame_interval,
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

GROUP = re.compile(r"\d{4,}")


class Trajectories:
    """One array (frames, *grid, fields) per trajectory."""

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays = arrays

    @property
    def rows_together(self) -> int:
        return int(any(map(rows_of_chunks, self.arrays)))  # each has chunks of its own

    def take(self, rows: np.ndarray, frames: np.ndarray, every: int) -> np.ndarray:
        cut = self._cut(every)
        states = [self.arrays[row][(frame, *cut)] for row, frame in zip(rows, frames, strict=True)]
        return np.moveaxis(np.stack(states), -1, 1)

    def read_into(self, states: np.ndarray, rows: Part, every: int, frames: slice = EVERY_FRAME) -> None:
        chosen = np.arange(len(self.arrays))[rows]
        for trajectory, row in zip(states, chosen, strict=True):
            place = np.moveaxis(trajectory, 1, -1)
            copy_part(place, self.arrays[row], frames, *self._cut(every), slice(None))

    def _cut(self, every: int) -> tuple[slice, ...]:
        return (slice(None, None, every),) * (len(self.arrays[0].shape) - 2)


def write_grouped(
    path: Path,
    data: np.ndarray,
    coordinates: Mapping[str, np.ndarray],
    parameters: Mapping[str, float],
    content_hash: str,
) -> None:
    """Write a file; data are (N, T, *grid, C), coordinates those of `x`, `y` and `t`."""
    with h5py.File(path, "w") as file:
        for number, trajectory in enumerate(data):
            group = file.create_group(f"{number:04d}")
            group.create_dataset("data", data=trajectory.astype(np.float32, copy=False))
            for key, places in coordinates.items():
                group.create_dataset(f"grid/{key}", data=places.astype(np.float32))
        file.attrs.update(parameters)
        file.attrs["content_hash"] = content_hash


def describe(path: Path) -> FieldFile:
    with open_hdf5(path) as file:
        groups = _groups(file)
        for name in groups:
            if file.get(name) is None:
                raise ConfigError(
                    f"{path}: {name}: is a link with a missing target; copy the target into this file"
                )
            if not isinstance(file[name], h5py.Group):
                raise ConfigError(f"{path}: {name}: is a dataset, expected a group; remove or fix it")
            if not isinstance(file[name].get("grid"), h5py.Group):
                raise ConfigError(f"{path}: no group {name}/grid, found {', '.join(file[name])}; add it")
        first = file[groups[0]]
        axes = ("x", "y") if isinstance(first.get("grid/y"), h5py.Dataset) else ("x",)
        shape = require_dataset(path, first, "data", ", ".join(("T", *axes, "C"))).shape
        for name in groups:
            data = require_dataset(path, file[name], "data", ", ".join(("T", *axes, "C")))
            if data.shape != shape:
                raise ConfigError(
                    f"{path}: {name}/data: got shape {data.shape}, expected {shape}, the shape in {groups[0]}"
                )
        scales = {name: _scales(path, file[name]["grid"], axes, shape) for name in groups}
        for name, of_group in scales.items():
            for key, found in of_group.items():
                expected = scales[groups[0]][key]
                if not math.isclose(found, expected, rel_tol=1e-3):
                    raise ConfigError(
                        f"{path}: {name}/grid/{key}: the spacing is {found:.6g}, but {expected:.6g} in "
                        f"{groups[0]}. Keep only trajectories with the same grid and interval in a file"
                    )
        frame_seconds, *spacing = scales[groups[0]].values()
        return FieldFile(
            path=path,
            layout="grouped",
            fields=tuple(f"field{number}" for number in range(shape[-1])),
            keys=tuple(f"{name}/data" for name in (groups[0], groups[-1])),
            hashed=tuple(f"{name}/data" for name in groups),
            trajectories=len(groups),
            frames=shape[0],
            grid=shape[1:-1],
            spacing=tuple(spacing),
            frame_seconds=frame_seconds,
            parameters=numeric_attributes(file),
            content_hash=stored_hash(file),
            open_arrays=open_arrays,
        )


def _scales(path: Path, grid: h5py.Group, axes: tuple[str, ...], shape: tuple[int, ...]) -> dict[str, float]:
    """Seconds from frame to frame, and the distance of two points along each axis."""
    points = zip(axes, shape[1:-1], strict=True)
    return {
        "t": frame_interval(path, grid, "t", shape[0]),
        **{axis: spacing_of(path, grid, axis, count) for axis, count in points},
    }


def open_arrays(path: Path) -> Trajectories:
    with open_hdf5(path) as file:
        return Trajectories([map_dataset(path, file[name]["data"]) for name in _groups(file)])


def is_grouped(file: h5py.File) -> bool:
    return bool(_groups(file))


def _groups(file: h5py.File) -> list[str]:
    """By name; what is no group counts too, so that no trajectory is left out unawares."""
    return sorted(name for name in file if GROUP.fullmatch(name))
