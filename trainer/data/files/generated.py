"""Files that are generated once, into a folder of data.root that is shared by processes."""

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from trainer.config.schema import DataConfig
from trainer.contracts.task import Task, TaskSettings
from trainer.errors import ConfigError
from trainer.process.folders import make_folder, refusal_told
from trainer.process.terminal import say

KEY_DIGITS = 12  # in the names of generated folders


Check = Callable[[Path, tuple[float, ...]], None]  # of a file and its case; ConfigError where it is bad


def generated_files(
    config: DataConfig, task: Task, *, generates: bool, check: Check, others: str = ""
) -> list[Path]:
    """Return a file per case, in the config's order; make those that are not there, or refuse to.

    `others` says why the files in data.root do not belong to the task.
    """
    settings: TaskSettings = getattr(config, task.name)
    folder = Path(config.root) / f"{task.name}-{_cache_key(config, task)}"
    paths = [folder / f"{task.name}-{_case_name(task, case)}.hdf5" for case in settings.cases]
    missing = [path for path in paths if not path.exists()]
    if missing and not generates:
        raise ConfigError(
            f"{missing[0]}: not found, and {config.root} has no other file of {task.name}. "
            "Put the data back, or name their folder with --data-root"
        )
    if missing and not (task.generate and task.write):
        raise ConfigError(
            f"data.{task.name}: {config.root} has no file of this task, and the task has no generator. "
            f"Put its files there{others}"
        )
    if missing:
        with _lock(folder.with_suffix(".lock")):
            _make_missing(config, task, paths, check)
    return paths


def _make_missing(config: DataConfig, task: Task, paths: list[Path], check: Check) -> None:
    """Write each file next to the folder, then rename it, so a crash or a bad solver leaves no file."""
    settings: TaskSettings = getattr(config, task.name)
    folder = paths[0].parent
    found = (
        f"some files are missing in {folder}"
        if any(path.exists() for path in paths)
        else f"no files in {config.root}"
    )
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    for made in (partial, folder):
        with refusal_told(made):
            made.mkdir(exist_ok=True)
    for number, path in enumerate(paths):
        if path.exists():
            continue
        text = f"{task.name}: {found}, generating file {number + 1} of {len(paths)}"
        say(text)
        values = task.generate(settings, config.seed, number)
        generated = f"{task.name}: the generated data of {_case_name(task, settings.cases[number])}"
        if not np.isfinite(values).all():
            raise ConfigError(
                f"{generated} have NaN or infinity, expected finite numbers. "
                f"Fix trainer/data/tasks/{task.name}.py"
            )
        content_hash = hashlib.sha256(values).hexdigest()
        with refusal_told(partial / path.name):
            try:
                task.write(partial / path.name, settings, number, values, content_hash)
            except Exception:  # HDF5 raises several for a full disk, and a task's own code any
                with contextlib.suppress(OSError):
                    (partial / path.name).unlink()  # it may be what fills the disk
                raise
        try:
            check(partial / path.name, settings.cases[number])
        except ConfigError as error:
            shutil.rmtree(partial)
            raise ConfigError(
                f"{generated} are discarded, because their file is not valid: {error}. "
                f"Fix trainer/data/tasks/{task.name}.py"
            ) from error
        (partial / path.name).rename(path)
    partial.rmdir()


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold a file lock that the kernel gives back when this process ends, however it ends."""
    make_folder(path.parent, "data.root")
    with refusal_told(path):
        file = path.open("w")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise ConfigError(
                f"data.root: {path.parent} has no file locks ({os.strerror(error.errno)}), by which "
                "processes wait for the one that generates; generate elsewhere, then move the data there"
            ) from error
        yield


def _case_name(task: Task, case: tuple[float, ...]) -> str:
    return "-".join(f"{name}{value}" for name, value in zip(task.parameters, case, strict=True))


def _cache_key(config: DataConfig, task: Task) -> str:
    settings = dataclasses.asdict(getattr(config, task.name))
    for key in ("files", "frame_strides"):  # what is read of files, and changes none
        settings.pop(key, None)
    made_of = [task.solver_version, config.seed, settings]
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:KEY_DIGITS]
