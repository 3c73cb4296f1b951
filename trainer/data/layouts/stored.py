"""Access to a dataset: memory-mapped if its bytes are contiguous, otherwise read chunk by chunk."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Protocol, runtime_checkable

import h5py
import numpy as np

from trainer.errors import ConfigError

CANNOT_LOCK = "unable to lock file"  # in what HDF5 says

EVERY_FRAME = slice(None)

Part = slice | np.ndarray  # of one axis; indices are in ascending order


@runtime_checkable
class OpenArrays(Protocol):
    """The open arrays of a file, as its layout stores them; `take` needs all of them mapped."""

    @property
    def rows_together(self) -> int:
        """Trajectories per chunk; 0 if all arrays are mapped."""
        ...

    def take(self, rows: np.ndarray, frames: np.ndarray, every: int) -> np.ndarray: ...

    def read_into(self, states: np.ndarray, rows: Part, every: int, frames: slice = EVERY_FRAME) -> None: ...


def open_hdf5(path: Path) -> h5py.File:
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise ConfigError(f"{path}: {_trouble_of(error)}") from error


def _trouble_of(error: OSError) -> str:
    """With a number the system refused, and the file may be whole; HDF5's own errors have none."""
    if not error.errno:
        return f"not a complete HDF5 file ({error}); delete it or download it again"
    reason = os.strerror(error.errno)
    if isinstance(error, BlockingIOError):
        return "another process is writing it; wait until it is done"
    if CANNOT_LOCK in str(error):
        return (
            f"its file system has no locks ({reason}); set HDF5_USE_FILE_LOCKING=FALSE in the environment, "
            "and let nothing write the file meanwhile"
        )
    return f"{reason}; expected a readable HDF5 file"


@dataclass(frozen=True)
class ChunkedArray:
    """A chunked dataset, compressed or not, of which only the needed chunks are read.

    The file is opened for each read, because a forked process must not use its parent's HDF5 handles.
    """

    path: Path
    name: str
    shape: tuple[int, ...]
    chunks: tuple[int, ...]

    def read_into(self, values: np.ndarray, *parts: Part) -> None:
        """Write the selected values; each chunk is read once."""
        axes = [
            list(_in_chunks(np.arange(size)[part], chunk))
            for size, chunk, part in zip(self.shape, self.chunks, parts, strict=True)
        ]
        with open_hdf5(self.path) as file:
            dataset = file[self.name]
            for chosen in product(*axes):
                read = read_part(self.path, dataset, tuple(axis.read for axis in chosen))
                wanted = read[tuple(axis.wanted for axis in chosen)]
                values[tuple(axis.place for axis in chosen)] = wanted


Array = np.ndarray | ChunkedArray


def map_dataset(path: Path, dataset: h5py.Dataset) -> Array:
    """Return a view of a memory map if the bytes are contiguous, otherwise a reader of its chunks."""
    if dataset.chunks:
        return ChunkedArray(path, dataset.name, dataset.shape, dataset.chunks)
    offset = dataset.id.get_offset()
    if offset is None:  # in the object header, at most 64 KB
        return read_part(path, dataset, ())
    try:
        mapped = np.memmap(path, mode="r", dtype=dataset.dtype, offset=offset, shape=dataset.shape)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            f"{path}: cannot be mapped into memory ({reason}); copy the data to a local disk"
        ) from error
    return np.asarray(mapped)  # each slice of a memmap takes Python's time


def copy_part(values: np.ndarray, array: Array, *parts: Part) -> None:
    """Write the selected values; only the first part may be an array of indices."""
    if isinstance(array, ChunkedArray):
        array.read_into(values, *parts)
    else:
        values[:] = array[parts]


def read_part(path: Path, dataset: h5py.Dataset, part: tuple[slice, ...]) -> np.ndarray:
    try:
        return dataset[part]
    except OSError as error:
        name = dataset.name.lstrip("/")
        if error.errno:
            reason, remedy = os.strerror(error.errno), "fix the disk or the network that it lies on"
        else:
            reason, remedy = str(error), "download the file again"
        raise ConfigError(f"{path}: {name}: cannot be read ({reason}); {remedy}") from error


def rows_of_chunks(array: Array) -> int:
    """Trajectories per chunk; 0 for a mapped array."""
    return array.chunks[0] if isinstance(array, ChunkedArray) else 0


@dataclass(frozen=True)
class _InChunk:
    """The selection within one chunk, along one axis."""

    read: slice  # of the dataset
    wanted: Part  # of what was read
    place: slice  # in the output


def _in_chunks(places: np.ndarray, chunk: int) -> Iterator[_InChunk]:
    ends = np.flatnonzero(np.diff(places // chunk)) + 1
    first = 0
    for part in np.split(places, ends):
        if len(part) == 0:
            continue
        start, stop = int(part[0]), int(part[-1]) + 1
        steps = np.diff(part)
        is_even = len(part) == 1 or (steps == steps[0]).all()
        step = int(steps[0]) if len(part) > 1 else 1
        yield _InChunk(
            read=slice(start, stop),
            wanted=slice(None, None, step) if is_even else part - start,
            place=slice(first, first + len(part)),
        )
        first += len(part)
