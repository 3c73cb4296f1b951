"""What is measured of the files before a training: once, and then read from beside them.

It takes a pass over all data, seconds of every start, and depends on nothing but files, splits and the code
that reads and measures: all of which name what is kept.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trainer.contracts.task import Task
from trainer.data.files.normalisation import (
    FieldUnits,
    Normalisation,
    measure_mean_targets,
    measure_normalisation,
    require_in_range,
)
from trainer.data.files.pairs import Splits
from trainer.data.layouts.field_file import FieldFile
from trainer.data.layouts.joined import hash_of_hashes
from trainer.data.layouts.stored import open_hdf5, read_part
from trainer.data.threads import on_threads

HASHED_BYTES = 2**24  # read at once by each thread
FOLDER = "measured"  # in data.root
SOURCES = Path(__file__).parents[1]  # of all that reads and measures


@dataclass(frozen=True)
class Measured:
    """Units of the training split, and of a steady task its mean solution; both splits are in range."""

    units: Normalisation
    mean_targets: np.ndarray | None
    content_hashes: tuple[str, ...]  # of the files


def measured(task: Task, files: list[FieldFile], splits: Splits, every: int, root: Path) -> Measured:
    """Return what was measured before of the same files, or measure it.

    ConfigError on values that are not in range, and where no field of a file has a scale of its own.
    """
    path = root / FOLDER / f"{task.name}-{_key(task, files, splits, every)}.npz"
    with suppress(OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):  # not there, or not whole
        return _read(path, task, files, every)
    found = _measure(task, files, splits, every)
    with suppress(OSError):  # a folder that cannot be written is measured each time
        _write(path, found)
    return found


def _measure(task: Task, files: list[FieldFile], splits: Splits, every: int) -> Measured:
    units = measure_normalisation(task, files, splits.train, every)
    require_in_range(task, files, splits.held_out, every)
    means = measure_mean_targets(files, splits.train, units.target, every) if task.steady else None
    return Measured(units, means, tuple(on_threads(_content_hash, files, "file hashed")))


def _content_hash(file: FieldFile) -> str:
    """What a file of ours says of itself holds until its fields are changed in place."""
    if file.members:
        return hash_of_hashes([_content_hash(member) for member in file.members])
    if file.content_hash and file.content_hash == _hash_of_fields(file):
        return file.content_hash
    found = hashlib.sha256()
    with file.path.open("rb") as opened:
        while part := opened.read(HASHED_BYTES):
            found.update(part)
    return found.hexdigest()


def _hash_of_fields(file: FieldFile) -> str:
    """Read in parts; a part is a whole number of chunks if it has room for one."""
    found = hashlib.sha256()
    with open_hdf5(file.path) as opened:
        for key in file.hashed or file.keys:
            dataset = opened[key]
            rows = max(1, HASHED_BYTES * len(dataset) // dataset.nbytes)
            if dataset.chunks and rows > dataset.chunks[0]:
                rows -= rows % dataset.chunks[0]
            for first in range(0, len(dataset), rows):
                found.update(read_part(file.path, dataset, (slice(first, first + rows),)))
    return found.hexdigest()


def _key(task: Task, files: list[FieldFile], splits: Splits, every: int) -> str:
    """A file that was written to or replaced since has another time, and what is kept of it is not found.

    The time of its last change of any kind is among them, which no copy preserves.
    """
    found = hashlib.sha256(np.__version__.encode())
    for source in sorted(SOURCES.rglob("*.py")):
        found.update(source.read_bytes())
    found.update(repr((task.name, task.steady, task.centred, task.parameters, every)).encode())
    for part in (member for file in files for member in file.members or (file,)):
        status = part.path.stat()
        times = status.st_mtime_ns, status.st_ctime_ns
        found.update(repr((str(part.path.resolve()), status.st_size, times, part.content_hash)).encode())
    found.update(splits.digest.encode())
    return found.hexdigest()[:16]


def _read(path: Path, task: Task, files: list[FieldFile], every: int) -> Measured:
    """ValueError, KeyError and others where it is not what was written."""
    if not zipfile.is_zipfile(path):
        raise ValueError("not whole")
    with np.load(path) as kept:
        units = Normalisation(
            state=FieldUnits(kept["state_mean"], kept["state_scale"]),
            target=FieldUnits(kept["target_mean"], kept["target_scale"]),
            condition_mean=kept["condition_mean"],
            condition_scale=kept["condition_scale"],
            statics=FieldUnits(kept["statics_mean"], kept["statics_scale"]) if task.statics else None,
        )
        means = kept["mean_targets"] if task.steady else None
        found = Measured(units, means, tuple(map(str, kept["content_hashes"])))
    _require_plausible(found, task, files, every)
    return found


def _require_plausible(found: Measured, task: Task, files: list[FieldFile], every: int) -> None:
    units, shape = found.units, (len(files), len(task.state))
    grid = tuple(-(-points // every) for points in files[0].grid)
    of_fields = (units.state.mean, units.state.scale, units.target.mean, units.target.scale)
    of_conditions = (units.condition_mean, units.condition_scale)
    of_statics = (units.statics.mean, units.statics.scale) if units.statics else ()
    wanted = [
        *((part, shape) for part in of_fields[:2]),
        *((part, (len(files), len(task.target))) for part in of_fields[2:]),
        *((part, (1 + len(task.parameters),)) for part in of_conditions),
        *((part, (len(files), len(task.statics))) for part in of_statics),
        *(
            []
            if found.mean_targets is None
            else [(found.mean_targets, (len(files), len(task.target), *grid))]
        ),
    ]
    if not all(part.shape == shape and np.isfinite(part).all() for part, shape in wanted):
        raise ValueError("not what is measured of these files")
    if len(found.content_hashes) != len(files):
        raise ValueError("not the hashes of these files")
    if not all((part > 0).all() for part in (units.state.scale, units.target.scale, units.condition_scale)):
        raise ValueError("no scale")


def _write(path: Path, found: Measured) -> None:
    """Whole or not at all: several ranks may write the same."""
    units, means, statics = found.units, found.mean_targets, found.units.statics
    path.parent.mkdir(exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            np.savez(
                file,
                state_mean=units.state.mean,
                state_scale=units.state.scale,
                target_mean=units.target.mean,
                target_scale=units.target.scale,
                condition_mean=units.condition_mean,
                condition_scale=units.condition_scale,
                content_hashes=np.array(found.content_hashes),
                **({} if means is None else {"mean_targets": means}),
                **({} if statics is None else {"statics_mean": statics.mean, "statics_scale": statics.scale}),
            )
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
