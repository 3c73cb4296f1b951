"""One HDF5 file of fields, whatever its layout, and how its states are read without reading all of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import h5py
import numpy as np

from trainer.contracts.task import Layout
from trainer.data.layouts.pieces import Pieces
from trainer.data.layouts.stored import (
    EVERY_FRAME,
    Array,
    OpenArrays,
    Part,
    copy_part,
    read_part,
    rows_of_chunks,
)
from trainer.errors import ConfigError

LARGEST_UNEVENNESS = 0.01  # of steps between points or frames, relative
LARGEST_ROUNDING = 4 * float(np.finfo(np.float32).eps)  # of a step, relative to the largest coordinate


@runtime_checkable
class States(Protocol):
    """Reads the states of a file."""

    def take(self, rows: np.ndarray, frames: np.ndarray, every: int) -> np.ndarray:
        """Return the states (n, fields, *grid) of n trajectories and frames at every n-th grid point."""
        ...

    def read_into(self, states: np.ndarray, rows: slice, every: int) -> None:
        """Write every frame of trajectories that follow each other, (rows, frames, fields, *grid)."""
        ...


@dataclass(frozen=True)
class FieldFile:
    path: Path
    layout: Layout
    fields: tuple[str, ...]
    keys: tuple[str, ...]  # of the datasets with the states, as errors name them
    trajectories: int
    frames: int  # a steady file has two: what is given, and what is asked for
    grid: tuple[int, ...]
    spacing: tuple[float, ...]  # between points, along each axis
    frame_seconds: float | None  # None: steady
    parameters: Mapping[str, float]
    content_hash: str | None  # of files that we wrote
    open_arrays: Callable[[Path], OpenArrays]
    hashed: tuple[str, ...] = ()  # datasets whose bytes, one behind the other, are hashed; none: the keys
    statics: tuple[str, ...] = ()  # fields that do not change with time
    # Of path, rows and n: the static fields (rows, statics, *grid) at every n-th point.
    read_statics: Callable[[Path, np.ndarray, int], np.ndarray] | None = None
    members: tuple[FieldFile, ...] = ()  # files that are read as this one

    def states(
        self, rows: np.ndarray | None = None, *, keeps: bool = False, most_bytes: int | None = None
    ) -> States:
        """Return a reader of these trajectories (in ascending order; None: all of them).

        For a chunked file it keeps two pieces in memory, or with `keeps` everything that it has read, up to
        `most_bytes` if there is such a bound.
        """
        arrays = self.open_arrays(self.path)
        if arrays.rows_together == 0:
            return arrays
        wanted = np.arange(self.trajectories) if rows is None else rows
        shape = (self.frames, len(self.fields), *self.grid)
        return Pieces(self.path, arrays, shape, wanted, keeps=keeps, most_bytes=most_bytes)


class FieldArrays:
    """One array (trajectories, frames, *grid) per field."""

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays = arrays

    @property
    def rows_together(self) -> int:
        return max(map(rows_of_chunks, self.arrays))

    def take(self, rows: np.ndarray, frames: np.ndarray, every: int) -> np.ndarray:
        return np.stack([array[(rows, frames, *self._cut(every))] for array in self.arrays], axis=1)

    def read_into(self, states: np.ndarray, rows: Part, every: int, frames: slice = EVERY_FRAME) -> None:
        for field, array in enumerate(self.arrays):
            copy_part(states[:, :, field], array, rows, frames, *self._cut(every))

    def _cut(self, every: int) -> tuple[slice, ...]:
        return (slice(None, None, every),) * (len(self.arrays[0].shape) - 2)


def _name(place: h5py.Group, key: str) -> str:
    return f"{place.name}/{key}".lstrip("/")


def _dataset(path: Path, place: h5py.Group, key: str) -> h5py.Dataset:
    """Its bytes must lie in the file itself: neither a memory map nor a hash of it sees those of another."""
    dataset = place.get(key)
    if dataset is None and key in place:
        raise ConfigError(
            f"{path}: {_name(place, key)}: is a link with a missing target; copy the target into this file"
        )
    if not isinstance(dataset, h5py.Dataset):
        raise ConfigError(
            f"{path}: no dataset {_name(place, key)}, found {', '.join(place) or 'nothing'}; add it"
        )
    is_linked = not path.samefile(dataset.file.filename)
    if is_linked or dataset.is_virtual or dataset.external:
        others = dataset.file.filename if is_linked else "other files"
        raise ConfigError(
            f"{path}: {_name(place, key)}: its data are stored in {others}, expected in this file. "
            "Copy them into this file"
        )
    if missing := _missing_filters(dataset):
        raise ConfigError(
            f"{path}: {_name(place, key)}: is compressed with {missing}, which this h5py cannot read. "
            "Write it again with gzip, lzf or without compression"
        )
    if dataset.size and not dataset.id.get_storage_size():  # HDF5 reads zeros there
        raise ConfigError(
            f"{path}: {_name(place, key)}: the dataset was never written; download the file again"
        )
    if dataset.chunks and (written := dataset.id.get_num_chunks()) < (chunks := _chunks(dataset)):
        raise ConfigError(
            f"{path}: {_name(place, key)}: only {written} of its {chunks} chunks were written; "
            "generate or download the file again"
        )
    return dataset


def _missing_filters(dataset: h5py.Dataset) -> str:
    """Names of filters that reading needs and that are not installed."""
    settings = dataset.id.get_create_plist()
    filters = [settings.get_filter(number) for number in range(settings.get_nfilters())]
    return ", ".join(
        name.decode() or f"filter {code}" for code, _, _, name in filters if not h5py.h5z.filter_avail(code)
    )


def _chunks(dataset: h5py.Dataset) -> int:
    return math.prod(-(-size // chunk) for size, chunk in zip(dataset.shape, dataset.chunks, strict=True))


def require_dataset(path: Path, place: h5py.Group, key: str, axes: str) -> h5py.Dataset:
    """Return a float32 dataset with as many dimensions as `axes` names; ConfigError names file and key."""
    dataset = _dataset(path, place, key)
    name = _name(place, key)
    if dataset.dtype != np.float32 or dataset.ndim != len(axes.split(",")) or 0 in dataset.shape:
        raise ConfigError(
            f"{path}: {name}: got {dataset.dtype} {dataset.shape}, expected float32 ({axes}); convert it"
        )
    return dataset


def spacing_of(path: Path, place: h5py.Group, key: str, points: int) -> float:
    """Return the distance of two points along an axis.

    A coordinate must have one entry per grid point, and grow evenly: spectra and places rely on it.
    """
    axis, name = _dataset(path, place, key), _name(place, key)
    if axis.shape != (points,):
        raise ConfigError(
            f"{path}: {name}: got shape {axis.shape}, expected {points} entries, one per grid point. "
            "Write the coordinates of the fields' grid"
        )
    if axis.dtype.kind not in "fiu":
        raise ConfigError(f"{path}: {name}: got {axis.dtype}, expected numbers; convert it")
    places = read_part(path, axis, ()).astype(np.float64)
    if not (np.isfinite(places).all() and (np.diff(places) > 0).all()):
        raise ConfigError(
            f"{path}: {name}: got {places[0]:.6g} to {places[-1]:.6g}, expected finite coordinates that "
            "increase. Reverse it and the fields, or fix its values"
        )
    steps, rounding = np.diff(places), LARGEST_ROUNDING * np.abs(places).max()
    step = (places[-1] - places[0]) / max(1, points - 1)
    if not np.allclose(steps, step, rtol=LARGEST_UNEVENNESS, atol=rounding):
        raise ConfigError(
            f"{path}: {name}: got {steps.min():.6g} to {steps.max():.6g} between points, expected even "
            "spacing. Interpolate the fields to an evenly spaced grid"
        )
    return float(step)


def frame_interval(path: Path, place: h5py.Group, key: str, frames: int) -> float:
    """Seconds between frames; PDEBench's files store one time more than frames, or as many."""
    dataset, name = _dataset(path, place, key), _name(place, key)
    if dataset.dtype.kind not in "fiu":
        raise ConfigError(f"{path}: {name}: got {dataset.dtype}, expected numbers; convert it")
    if frames < 2:
        raise ConfigError(
            f"{path}: has {frames} frame, expected at least 2: a pair is a frame and a later one"
        )
    if dataset.shape not in ((frames,), (frames + 1,)):  # before it is read: h5py reads no slice of a scalar
        raise ConfigError(
            f"{path}: {name}: got shape {dataset.shape}, expected {frames} or {frames + 1} entries: one per "
            "frame and at most one more. Write the times of the frames"
        )
    return interval_of_times(path, name, read_part(path, dataset, ()), frames)


def interval_of_times(path: Path, name: str, stored: np.ndarray, frames: int) -> float:
    """Seconds between frames at these times, of which there may be one more."""
    times = stored.astype(np.float64)
    steps = np.diff(times[:frames])
    if not (steps.min() > 0 and np.allclose(steps, steps.mean(), rtol=LARGEST_UNEVENNESS, atol=0)):
        raise ConfigError(
            f"{path}: {name}: got {steps.min():.6g} to {steps.max():.6g} seconds between frames, "
            "expected an even interval. Interpolate the frames to evenly spaced times, or fix the times"
        )
    return float((times[frames - 1] - times[0]) / (frames - 1))


def numeric_attributes(file: h5py.File) -> dict[str, float]:
    """Attributes that are one number: the parameters of the equation; a float32 0.1 is 0.1."""
    numbers = {name: np.asarray(value) for name, value in file.attrs.items()}
    return {
        name: float(str(value.reshape(-1)[0]))
        for name, value in numbers.items()
        if value.size == 1 and value.dtype.kind in "fiu"
    }


def stored_hash(file: h5py.File) -> str | None:
    text = file.attrs.get("content_hash")
    return text if isinstance(text, str) else None
