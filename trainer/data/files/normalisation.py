"""Units in which the model works, measured on the training split alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from trainer.contracts.task import Task
from trainer.data.files.pairs import PairTable
from trainer.data.layouts.field_file import FieldFile
from trainer.data.threads import on_threads
from trainer.errors import ConfigError

# No field's: from 1.8e19 on a square is no float32, and 1e20, 9.97e36 and more mark what is missing in many
# files. A value that is far less can make the scale of its field alone too, which no bound tells from data.
TOO_LARGE = 1e19
# Bytes of a trajectory that are measured at once; what is computed of them takes five times as much.
LARGEST_READ = 2**28
LEAST_VARIANCE = 1e-12  # what varies less is taken for a constant, with the scale 1


@dataclass(frozen=True)
class FieldUnits:
    """Normalised: (u - mean) * scale, per file: Darcy's solutions span four decades over beta, and with one
    scale for all the small ones would not count. Arrays (files, fields), float32.
    """

    mean: np.ndarray
    scale: np.ndarray


@dataclass(frozen=True)
class Normalisation:
    """Units of one task; a task that moves in time has the same for state and target."""

    state: FieldUnits
    target: FieldUnits
    condition_mean: np.ndarray  # of log dt and the logarithms of the parameters
    condition_scale: np.ndarray
    statics: FieldUnits | None = None  # of static fields, where the task has some

    def plain(self) -> dict[str, list]:
        """As a checkpoint holds it."""
        statics = self.statics
        return {
            "state_mean": self.state.mean.tolist(),
            "state_scale": self.state.scale.tolist(),
            "target_mean": self.target.mean.tolist(),
            "target_scale": self.target.scale.tolist(),
            "condition_mean": self.condition_mean.tolist(),
            "condition_scale": self.condition_scale.tolist(),
            **({} if statics is None else {"statics_mean": statics.mean.tolist()}),
            **({} if statics is None else {"statics_scale": statics.scale.tolist()}),
        }


def normalise(fields, mean, scale):
    """Fields (n, fields, *grid), units (n, fields), arrays or tensors.

    Two separately rounded operations give the same bits on every device.
    """
    units = (...,) + (None,) * (fields.ndim - 2)
    return (fields - mean[units]) * scale[units]


def physical(fields, mean, scale):
    """The inverse of normalise."""
    units = (...,) + (None,) * (fields.ndim - 2)
    return fields / scale[units] + mean[units]


def measure_normalisation(task: Task, files: list[FieldFile], table: PairTable, every: int) -> Normalisation:
    """Return mean and scale over every frame of the table's trajectories.

    ConfigError on NaN, infinity and values of TOO_LARGE, and where no field of a file has a scale of its own.
    """
    units = [_field_units(task, files, table, every, frames) for frames in _parts(task, files[0])]
    logs = log_conditions(task, files, table)
    return Normalisation(
        state=units[0],
        target=units[-1],
        condition_mean=np.array([log.mean() for log in logs]),
        condition_scale=np.array([_scale(log.var()) for log in logs]),
        statics=_static_units(files, table, every) if task.statics else None,
    )


def require_in_range(task: Task, files: list[FieldFile], table: PairTable, every: int) -> None:
    """ConfigError on NaN, infinity and values of TOO_LARGE; measuring the units asks it of their split."""

    def look_through(index: int) -> None:
        file, rows = files[index], table.rows_of(index)
        states = file.states(rows)
        stretches = [part for frames in _parts(task, file) for part in _stretches(file, frames, every)]
        for row, frames in product(rows, stretches):
            fields = states.take(np.full(len(frames), row), frames, every)
            _range(file, int(row), frames, fields)
            if (blank := _blank(fields, file, frames)) is not None:
                raise _unwritten(file, int(row), frames, blank)
        for row in rows if task.statics else ():
            _statics_in_range(file, int(row), every)

    on_threads(look_through, range(len(files)), "checking file")


def _static_units(files: list[FieldFile], table: PairTable, every: int) -> FieldUnits:
    """One trajectory after the other, as there may be more than memory holds."""
    means, scales = [], []
    for index, file in enumerate(files):
        total, squares, count = 0.0, 0.0, 0
        for row in table.rows_of(index):
            fields = _statics_in_range(file, int(row), every).astype(np.float64)
            total, squares = (
                total + fields.sum(axis=(0, 2, 3)),
                squares + np.square(fields).sum(axis=(0, 2, 3)),
            )
            count += fields[:, 0].size
        mean = total / count
        means.append(mean)
        scales.append([_scale(variance) for variance in squares / count - mean**2])
    return FieldUnits(np.array(means, dtype=np.float32), np.array(scales, dtype=np.float32))


def _statics_in_range(file: FieldFile, row: int, every: int) -> np.ndarray:
    fields = file.read_statics(file.path, np.array([row]), every)
    if not (np.abs(fields) < TOO_LARGE).all():
        raise ConfigError(
            f"{file.path}: {', '.join(file.statics)}: trajectory {row} holds NaN, infinity or more than "
            f"{TOO_LARGE:g}. Remove it, or generate or download the file again"
        )
    return fields


def measure_mean_targets(
    files: list[FieldFile], table: PairTable, units: FieldUnits, every: int
) -> np.ndarray:
    """Return the mean solution of a steady task, normalised, (files, fields, *grid) float32."""

    def mean_of(index: int) -> np.ndarray:
        rows = table.rows_of(index)
        states = files[index].states(rows)
        total = sum(states.take(np.array([row]), np.array([1]), every).astype(np.float64) for row in rows)
        return (total / len(rows))[0].astype(np.float32)

    means = np.stack(on_threads(mean_of, range(len(files)), "mean solution"))
    return normalise(means, units.mean, units.scale)


def log_conditions(task: Task, files: list[FieldFile], table: PairTable) -> list[np.ndarray]:
    """log dt per frame pair (0 in a steady task), then the logarithm of each parameter per trajectory."""
    seconds = files[0].frame_seconds
    log_dt = np.zeros(len(table.stride)) if seconds is None else np.log(table.stride * seconds)
    per_file = [np.log([file.parameters[name] for file in files]) for name in task.parameters]
    return [log_dt, *(values[table.file_index] for values in per_file)]


def _field_units(
    task: Task, files: list[FieldFile], table: PairTable, every: int, frames: np.ndarray
) -> FieldUnits:
    def of_file(index: int) -> tuple[np.ndarray, list[float]]:
        file, rows = files[index], table.rows_of(index)
        states, total, squares, count = file.states(rows), 0.0, 0.0, 0
        lowest, highest, unwritten = np.inf, -np.inf, []
        for row, part in product(rows, _stretches(file, frames, every)):
            fields = states.take(np.full(len(part), row), part, every)
            low, high = _range(file, int(row), part, fields)
            lowest, highest = np.minimum(lowest, low), np.maximum(highest, high)
            blank = _blank(fields, file, part)
            unwritten += [] if blank is None else [(int(row), blank)]
            fields = fields.astype(np.float64)
            axes = (0, *range(2, fields.ndim))
            total, squares = total + fields.sum(axis=axes), squares + np.square(fields).sum(axis=axes)
            count += fields.size // fields.shape[1]
        mean = total / count if task.centred else np.zeros_like(total)
        variances = squares / count - mean**2
        varies = highest > lowest if task.centred else np.maximum(-lowest, highest) > 0
        if not varies.any():
            values = " and ".join(f"{value:g}" for value in lowest)
            raise ConfigError(
                f"{file.path}: {_keys(file, frames)}: is {values} everywhere in the training split, expected "
                "values that vary. Generate or download the file again, or leave it out"
            )
        if not any(_has_scale(variance) for variance in variances[varies]):
            origin, most = "its mean" if task.centred else "0", np.sqrt(max(0, *variances[varies]))
            raise ConfigError(
                f"{file.path}: {_keys(file, frames)}: differs from {origin} by at most {most:.1e} (root mean "
                f"square) in the training split, expected more than {LEAST_VARIANCE**0.5:g}. "
                "Convert the fields to other units, or leave the file out"
            )
        if unwritten:
            row, blank = unwritten[0]
            raise _unwritten(file, row, frames, blank)
        return mean, [_scale(variance) for variance in variances]

    means, scales = zip(*on_threads(of_file, range(len(files)), "file measured"), strict=True)
    return FieldUnits(np.array(means, dtype=np.float32), np.array(scales, dtype=np.float32))


def _parts(task: Task, file: FieldFile) -> list[np.ndarray]:
    """Frames that have units of their own: of a steady task what is given, and what is to be found."""
    return [np.arange(1), np.arange(1, 2)] if task.steady else [np.arange(file.frames)]


def _stretches(file: FieldFile, frames: np.ndarray, every: int) -> list[np.ndarray]:
    """Cut the frames so that no part of a trajectory takes more than LARGEST_READ, or one frame."""
    points = math.prod(-(-points // every) for points in file.grid)
    together = max(1, LARGEST_READ // (points * len(file.fields) * np.dtype(np.float32).itemsize))
    return [frames[first : first + together] for first in range(0, len(frames), together)]


def _blank(states: np.ndarray, file: FieldFile, frames: np.ndarray) -> str | None:
    """Say what of the states (frames, fields, *grid) of a trajectory is 0 everywhere, or nothing.

    A trajectory may start from 0, which is no target. In a steady task the frames are of two kinds.
    """
    zero_at_first = states.reshape(len(states), -1)[:, 0] == 0  # of most frames all that is looked at
    blank = [number for number in np.flatnonzero(zero_at_first) if not states[number].any()]
    if len(blank) == len(states) and (len(states) == file.frames or file.frame_seconds is None):
        return ""
    return next((f"frame {frames[number]} of " for number in blank if frames[number] > 0), None)


def _unwritten(file: FieldFile, row: int, frames: np.ndarray, blank: str) -> ConfigError:
    """HDF5 reads zeros where nothing was written yet; to a solution of zeros every error is infinite."""
    return ConfigError(
        f"{file.path}: {_keys(file, frames)}: {blank}trajectory {row} is 0 everywhere, so it was probably "
        "never written. Remove it, or generate or download the file again"
    )


def _range(
    file: FieldFile, row: int, frames: np.ndarray, states: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return lowest and highest of each field, (fields,), of states (n, fields, *grid)."""
    axes = (0, *range(2, states.ndim))
    low, high = states.min(axis=axes), states.max(axis=axes)  # NaN where there is one
    if not (np.maximum(-low, high) < TOO_LARGE).all():
        worst = states.flat[np.abs(states).argmax()]
        found = (
            f"{worst:g}, expected less than {TOO_LARGE:g} in magnitude"
            if np.isfinite(worst)
            else "NaN or infinity"
        )
        raise ConfigError(
            f"{file.path}: {_keys(file, frames)}: trajectory {row} holds {found}. "
            "Remove it, or generate or download the file again"
        )
    return low, high


def _keys(file: FieldFile, frames: np.ndarray) -> str:
    """Of these frames; a steady file has a dataset for each."""
    is_steady = file.frame_seconds is None
    return " or ".join(file.keys[frame] for frame in frames) if is_steady else " or ".join(file.keys)


def _has_scale(variance: float) -> bool:
    return bool(variance > LEAST_VARIANCE)


def _scale(variance: float) -> float:
    return 1.0 / float(np.sqrt(variance)) if _has_scale(variance) else 1.0  # a constant stays as it is
