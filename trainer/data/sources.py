"""Where the files of a config are: the user's own, or generated once into a cache that many processes share."""

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from trainer.config.schema import DataConfig
from trainer.data.layout import TrajectoryFile, open_scalar_1d, write_scalar_1d
from trainer.data.tasks import advection1d
from trainer.errors import ConfigError


def open_files(config: DataConfig) -> list[TrajectoryFile]:
    """Return one file per beta, in the config's order, generated where needed."""
    by_beta: dict[float, TrajectoryFile] = {}
    for file in map(open_scalar_1d, ensure_files(config)):
        if file.beta in by_beta:
            raise ConfigError(f"{file.path}: beta {file.beta} is also in {by_beta[file.beta].path}; keep one of them")
        by_beta[file.beta] = file
    missing = [beta for beta in config.advection1d.betas if beta not in by_beta]
    if missing:
        raise ConfigError(f"data.advection1d.betas: got {missing[0]}, but no file in {config.root} has that beta")
    files = [by_beta[beta] for beta in config.advection1d.betas]
    for file in files:
        _require_shape(file, config)
    return files


def ensure_files(config: DataConfig) -> list[Path]:
    """Return the HDF5 files: those in data.root itself, else the generated ones."""
    root = Path(config.root)
    own = sorted([*root.glob("*.hdf5"), *root.glob("*.h5")])
    if own:
        return own
    folder = root / f"advection1d-{_cache_key(config)}"
    if not folder.is_dir():
        _generate(config, folder)
    return sorted(folder.glob("*.hdf5"))


def _generate(config: DataConfig, folder: Path) -> None:
    """Write all files beside the folder and rename at the end, so that a crash leaves no half of it."""
    with _lock(folder.with_suffix(".lock")):
        if folder.is_dir():
            return
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        task = config.advection1d
        x, t = advection1d.cell_centres(task), advection1d.frame_times(task)
        for beta in task.betas:
            tensor = advection1d.generate(task, config.seed, beta)
            content_hash = hashlib.sha256(tensor).hexdigest()
            write_scalar_1d(partial / f"1D_Advection_Sols_beta{beta}.hdf5", tensor, x, t, beta, content_hash)
        os.rename(partial, folder)


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold a file lock that the kernel gives back when this process ends, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _cache_key(config: DataConfig) -> str:
    made_of = [advection1d.SOLVER_VERSION, config.seed, dataclasses.asdict(config.advection1d)]
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:12]


def _require_shape(file: TrajectoryFile, config: DataConfig) -> None:
    task = config.advection1d
    if file.trajectories < task.trajectories:
        raise ConfigError(
            f"{file.path}: tensor: has {file.trajectories} trajectories; "
            f"data.advection1d.trajectories asks for {task.trajectories}"
        )
    if (file.frames, file.points) != (task.frames, task.grid_points):
        raise ConfigError(
            f"{file.path}: tensor: has {file.frames} frames of {file.points} points; data.advection1d.frames and "
            f"grid_points ask for {task.frames} of {task.grid_points}"
        )
