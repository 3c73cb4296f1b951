"""Compressible flow: `density`, `pressure`, `Vx`, `Vy`, ... each (N, T, X[, Y[, Z]])."""

from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from trainer.data.layouts.field_file import (
    FieldArrays,
    FieldFile,
    frame_interval,
    numeric_attributes,
    require_dataset,
    spacing_of,
    stored_hash,
)
from trainer.data.layouts.stored import map_dataset, open_hdf5
from trainer.errors import ConfigError

VELOCITIES = ("Vx", "Vy", "Vz")
KEYS = {"density", "pressure", *VELOCITIES}
AXES = ("X", "Y", "Z")


def write_cfd(
    path: Path,
    fields: np.ndarray,
    coordinates: Mapping[str, np.ndarray],
    t: np.ndarray,
    parameters: Mapping[str, float],
    content_hash: str,
) -> None:
    """Write a file; fields are density, pressure and velocities (fields, N, T, *grid).

    Coordinates are those of `x` and `y`. PDEBench stores one time more than frames.
    """
    with h5py.File(path, "w") as file:
        for key, field in zip(("density", "pressure", *VELOCITIES), fields, strict=False):
            file.create_dataset(key, data=field.astype(np.float32, copy=False))
        for axis, places in coordinates.items():
            file.create_dataset(f"{axis}-coordinate", data=places.astype(np.float32))
        file.create_dataset("t-coordinate", data=np.append(t, 2 * t[-1] - t[-2]).astype(np.float32))
        file.attrs.update(parameters)
        file.attrs["content_hash"] = content_hash


def describe(path: Path) -> FieldFile:
    with open_hdf5(path) as file:
        dimensions = _dimensions(file)
        fields = ("density", "pressure", *VELOCITIES[:dimensions])
        axes = ", ".join(("N", "T", *AXES[:dimensions]))
        datasets = [require_dataset(path, file, key, axes) for key in fields]
        shape = datasets[0].shape
        for key, dataset in zip(fields, datasets, strict=True):
            if dataset.shape != shape:
                raise ConfigError(
                    f"{path}: {key}: got shape {dataset.shape}, expected {shape}, the shape of density"
                )
        axes = zip(AXES, shape[2:], strict=False)
        return FieldFile(
            path=path,
            layout="cfd",
            fields=fields,
            keys=fields,
            trajectories=shape[0],
            frames=shape[1],
            grid=shape[2:],
            spacing=tuple(spacing_of(path, file, f"{axis.lower()}-coordinate", n) for axis, n in axes),
            frame_seconds=frame_interval(path, file, "t-coordinate", shape[1]),
            parameters=numeric_attributes(file),
            content_hash=stored_hash(file),
            open_arrays=open_arrays,
        )


def _dimensions(file: h5py.File) -> int:
    """Of space, as the last velocity or the density has them, so that a velocity that is missing is named."""
    by_velocity = [number for number, key in enumerate(VELOCITIES, start=1) if key in file]
    density = file.get("density")
    by_density = density.ndim - 2 if isinstance(density, h5py.Dataset) else 1
    return min(max(1, by_density, *by_velocity), len(VELOCITIES))


def open_arrays(path: Path) -> FieldArrays:
    fields = describe(path).fields
    with open_hdf5(path) as file:
        return FieldArrays([map_dataset(path, file[key]) for key in fields])
