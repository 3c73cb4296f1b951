"""What is measured of the files before a training: once, and then read from beside them.

It takes a pass over all data, seconds of every start, and depends on nothing but files, splits and the code
that measures: all of which name what is kept.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trainer.data import normalisation
from trainer.data.layouts.field_file import FieldFile
from trainer.data.normalisation import (
    FieldUnits,
    Normalisation,
    measure_mean_targets,
    measure_normalisation,
    require_finite,
)
from trainer.data.pairs import Splits
from trainer.data.tasks.task import Task

FOLDER = "measured"  # in data.root


@dataclass(frozen=True)
class Measured:
    """Units of the training split, and of a steady task its mean solution; both splits are finite."""

    units: Normalisation
    mean_targets: np.ndarray | None


def measured(task: Task, files: list[FieldFile], splits: Splits, every: int, root: Path) -> Measured:
    """Return what was measured before of the same files, or measure it. ConfigError on NaN or infinity."""
    path = root / FOLDER / f"{task.name}-{_key(task, files, splits, every)}.npz"
    with suppress(OSError, KeyError, ValueError, zipfile.BadZipFile):  # not there, or not whole
        return _read(path)
    found = _measure(task, files, splits, every)
    with suppress(OSError):  # a folder that cannot be written is measured each time
        _write(path, found)
    return found


def _measure(task: Task, files: list[FieldFile], splits: Splits, every: int) -> Measured:
    units = measure_normalisation(task, files, splits.train, every)
    require_finite(files, splits.held_out, every)
    means = measure_mean_targets(files, splits.train, units.target, every) if task.steady else None
    return Measured(units, means)


def _key(task: Task, files: list[FieldFile], splits: Splits, every: int) -> str:
    """A file that was written to since has another time, and what is kept of it is not found."""
    found = hashlib.sha256(Path(normalisation.__file__).read_bytes())
    found.update(repr((task.name, task.steady, task.centred, task.parameters, every)).encode())
    for file in files:
        status = file.path.stat()
        found.update(repr((str(file.path.resolve()), status.st_size, status.st_mtime_ns)).encode())
    for table in (splits.train, splits.held_out):
        for part in (table.file_index, table.row, table.first_frame, table.stride):
            found.update(f"{part.dtype} {part.shape}".encode() + part.tobytes())
    return found.hexdigest()[:16]


def _read(path: Path) -> Measured:
    with np.load(path) as kept:
        units = Normalisation(
            state=FieldUnits(kept["state_mean"], kept["state_scale"]),
            target=FieldUnits(kept["target_mean"], kept["target_scale"]),
            condition_mean=kept["condition_mean"],
            condition_scale=kept["condition_scale"],
        )
        return Measured(units, kept.get("mean_targets"))


def _write(path: Path, found: Measured) -> None:
    """Whole or not at all: several ranks may write the same."""
    units, means = found.units, found.mean_targets
    path.parent.mkdir(exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    with partial.open("wb") as file:
        np.savez(
            file,
            state_mean=units.state.mean,
            state_scale=units.state.scale,
            target_mean=units.target.mean,
            target_scale=units.target.scale,
            condition_mean=units.condition_mean,
            condition_scale=units.condition_scale,
            **({} if means is None else {"mean_targets": means}),
        )
    partial.replace(path)
