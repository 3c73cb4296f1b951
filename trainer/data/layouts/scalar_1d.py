"""Scalar 1-D fields: `tensor` (N, T, X), `x-coordinate`, `t-coordinate`, parameters as attributes."""

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

KEYS = {"tensor", "x-coordinate", "t-coordinate"}


def write_scalar_1d(
    path: Path,
    tensor: np.ndarray,
    x: np.ndarray,
    t: np.ndarray,
    parameters: Mapping[str, float],
    content_hash: str,
) -> None:
    """Write a file; PDEBench stores one time more than frames."""
    step = t[1] - t[0]
    with h5py.File(path, "w") as file:
        file.create_dataset("tensor", data=tensor.astype(np.float32, copy=False))
        file.create_dataset("x-coordinate", data=x.astype(np.float32))
        file.create_dataset("t-coordinate", data=np.append(t, t[-1] + step).astype(np.float32))
        file.attrs.update(parameters)
        file.attrs["content_hash"] = content_hash


def describe(path: Path) -> FieldFile:
    with open_hdf5(path) as file:
        tensor = require_dataset(path, file, "tensor", "N, T, X")
        trajectories, frames, points = tensor.shape
        return FieldFile(
            path=path,
            layout="scalar-1d",
            fields=("u",),
            keys=("tensor",),
            trajectories=trajectories,
            frames=frames,
            grid=(points,),
            spacing=(spacing_of(path, file, "x-coordinate", points),),
            frame_seconds=frame_interval(path, file, "t-coordinate", frames),
            parameters=numeric_attributes(file),
            content_hash=stored_hash(file),
            open_arrays=open_arrays,
        )


def open_arrays(path: Path) -> FieldArrays:
    with open_hdf5(path) as file:
        return FieldArrays([map_dataset(path, file["tensor"])])
