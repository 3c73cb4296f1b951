"""PDEBench's HDF5 layout of scalar 1-D fields: write it, and read it by the keys found."""

from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from trainer.errors import ConfigError


@dataclass(frozen=True)
class TrajectoryFile:
    """One file: `tensor` (trajectories, frames, points) float32 at one parameter value."""

    path: Path
    trajectories: int
    frames: int
    points: int
    frame_seconds: float
    beta: float
    content_hash: str | None  # of files that we wrote

    def values(self) -> np.ndarray:
        """Open the field without reading it: a memory map where the bytes lie in one piece, else all of it."""
        with h5py.File(self.path, "r") as file:
            tensor = file["tensor"]
            offset = tensor.id.get_offset()
            if offset is None:  # chunked or compressed
                return tensor[:]
            return np.memmap(self.path, mode="r", dtype=tensor.dtype, offset=offset, shape=tensor.shape)


def write_scalar_1d(path: Path, tensor: np.ndarray, x: np.ndarray, t: np.ndarray, beta: float, content_hash: str) -> None:
    """Write a file; PDEBench stores one time more than frames."""
    step = t[1] - t[0]
    with h5py.File(path, "w") as file:
        file.create_dataset("tensor", data=tensor.astype(np.float32))
        file.create_dataset("x-coordinate", data=x.astype(np.float32))
        file.create_dataset("t-coordinate", data=np.append(t, t[-1] + step).astype(np.float32))
        file.attrs["beta"] = beta
        file.attrs["content_hash"] = content_hash


def open_scalar_1d(path: Path) -> TrajectoryFile:
    """Check the layout and return its description; ConfigError names file and key."""
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise ConfigError(f"{path}: not a whole HDF5 file ({error}); delete it or download it again") from error
    with file:
        for key in ("tensor", "x-coordinate", "t-coordinate"):
            if not isinstance(file.get(key), h5py.Dataset):
                found = ", ".join(file) or "nothing"
                raise ConfigError(f"{path}: no dataset {key}, found {found}; expected PDEBench's scalar 1-D layout")
        if "beta" not in file.attrs:
            raise ConfigError(f"{path}: no attribute beta; set it to the advection speed of this file")
        tensor, times = file["tensor"], np.asarray(file["t-coordinate"], dtype=np.float64)
        if tensor.ndim != 3 or tensor.dtype != np.float32:
            raise ConfigError(f"{path}: tensor: got {tensor.dtype} {tensor.shape}, expected float32 (N, T, X)")
        trajectories, frames, points = tensor.shape
        if len(file["x-coordinate"]) != points:
            raise ConfigError(f"{path}: x-coordinate: got {len(file['x-coordinate'])} entries, expected {points}")
        if len(times) not in (frames, frames + 1) or frames < 2:
            raise ConfigError(f"{path}: t-coordinate: got {len(times)} entries, expected {frames + 1}, one over frames")
        return TrajectoryFile(
            path=path,
            trajectories=trajectories,
            frames=frames,
            points=points,
            frame_seconds=float((times[frames - 1] - times[0]) / (frames - 1)),
            beta=float(np.asarray(file.attrs["beta"]).item()),
            content_hash=file.attrs.get("content_hash"),
        )
