"""Where the files of a config are: the user's own, or generated; those that do not fit it are refused."""

import math
import os
import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from trainer.config.schema import DataConfig
from trainer.contracts.task import Task, TaskSettings
from trainer.data.files.generated import KEY_DIGITS, generated_files
from trainer.data.files.matching import asked_pattern, has_size, is_of_task, misfit
from trainer.data.layouts.detect import open_field_file
from trainer.data.layouts.field_file import FieldFile
from trainer.data.layouts.joined import joined
from trainer.data.tasks import TASKS
from trainer.errors import ConfigError
from trainer.process.ranks import is_first_rank
from trainer.process.terminal import say

MOST_NAMED = 4  # files in one error
SUFFIXES = (".hdf5", ".h5")  # in capitals too


def open_files(config: DataConfig, *, generates: bool = True) -> dict[str, list[FieldFile]]:
    """Return the files of each task, one per case in the config's order.

    A task that has no file of the user's own is generated, or refused if it must not be.
    """
    own = _own_files(config)
    found = {name: [file for file in own if is_of_task(file, TASKS[name], config)] for name in config.tasks}
    if not all(found.values()):
        _tell_of_deeper_files(Path(config.root))
    for name, files in found.items():
        if asked_pattern(config, TASKS[name]) and not files:
            raise _none_named_so(config, TASKS[name], own)
    # Making files takes long: the user's own are checked before.
    opened = {name: _in_order(config, TASKS[name], files) for name, files in found.items() if files}
    return {
        name: opened.get(name) or _generated(config, TASKS[name], own, generates=generates) for name in found
    }


def _own_files(config: DataConfig) -> list[FieldFile]:
    """The user's own lie in data.root itself; a damaged one ends here, whatever task it is of.

    If the config has a pattern for every task, files that match none are not opened.
    """
    root = Path(config.root)
    found = sorted(root.iterdir()) if root.is_dir() else []
    asked = [asked_pattern(config, TASKS[name]) or "*" for name in config.tasks]
    return [
        open_field_file(path)
        for path in found
        if path.suffix.lower() in SUFFIXES and any(fnmatchcase(path.name, pattern) for pattern in asked)
    ]


def _none_named_so(config: DataConfig, task: Task, own: list[FieldFile]) -> ConfigError:
    pattern = asked_pattern(config, task)
    so_named = [file for file in own if fnmatchcase(file.path.name, pattern)]
    root = Path(config.root)
    names = sorted(
        path.name for path in (root.iterdir() if root.is_dir() else []) if path.suffix.lower() in SUFFIXES
    )
    found = (
        _why_not(config, task, so_named).removeprefix(": ")
        if so_named
        else f"found {_listed(names) or 'no HDF5 file'}"
    )
    return ConfigError(
        f'data.{task.name}.files: no file of this task in {config.root} matches "{pattern}": {found}. '
        "Change the pattern, or put its files there"
    )


def _generated(config: DataConfig, task: Task, own: list[FieldFile], *, generates: bool) -> list[FieldFile]:
    def check(path: Path, case: tuple[float, ...]) -> None:
        file = open_field_file(path)
        found = tuple(_parameter(file, task, name) for name in task.parameters)
        if found != case:
            raise ConfigError(f"{path}: has {_named(task, found)}, expected {_named(task, case)}")
        _require_shape(file, task, getattr(config, task.name))

    paths = generated_files(
        config, task, generates=generates, check=check, others=_why_not(config, task, own)
    )
    return _in_order(config, task, [open_field_file(path) for path in paths])


def _in_order(config: DataConfig, task: Task, found: list[FieldFile]) -> list[FieldFile]:
    settings: TaskSettings = getattr(config, task.name)
    by_case: dict[tuple[float, ...], list[FieldFile]] = {}
    for file in found:
        case = tuple(_parameter(file, task, name) for name in task.parameters)
        by_case.setdefault(case, []).append(file)
    for case in settings.cases:
        if case not in by_case:
            raise ConfigError(
                f"data.{task.name}: asks for {_named(task, case)}, but no file in {config.root} has that. "
                f"Add one, or ask for what is there{_not_asked_for(config, task, by_case)}"
            )
    files = [_only(by_case[case], task, settings, case) for case in settings.cases]
    for file in files:
        _require_shape(file, task, settings)
        _require_same_scales(file, files[0])
    return files


def _only(found: list[FieldFile], task: Task, settings: TaskSettings, case: tuple[float, ...]) -> FieldFile:
    """Return the file of a case; of several, the one with the configured size, or all as one."""
    if task.joins_files:
        shape = (settings.frames, tuple(settings.grid))
        files = [file for file in found if (file.frames, file.grid) == shape] or found[:1]
        for file in files:
            _require_same_scales(file, files[0])
        return joined(files)
    fitting = [file for file in found if has_size(file, settings)] or found[:1]
    if len(fitting) > 1:
        first, second, *_ = fitting
        remedy = f', or set data.{task.name}.files to a file name or pattern, such as "{first.path.name}"'
        raise ConfigError(
            f"{second.path}: {_named(task, case) or f'the data of {task.name}'} is also in {first.path}, "
            "with the same dimensions, fields, parameters and size. Keep one of them in data.root"
            f"{remedy if hasattr(task.settings, 'files') else ''}"
        )
    return fitting[0]


def _why_not(config: DataConfig, task: Task, own: list[FieldFile]) -> str:
    """Why the user's own files do not belong to the task."""
    settings = getattr(config, task.name)
    of_another = "belongs to another task by its name or attributes"
    reasons = [f"{file.path} {misfit(file, task, settings) or of_another}" for file in own]
    return f": {_listed(reasons)}" if reasons else ""


def _listed(texts: list[str]) -> str:
    more = [f"{len(texts) - MOST_NAMED} more"] if len(texts) > MOST_NAMED else []
    return ", ".join([*texts[:MOST_NAMED], *more])


def _named(task: Task, case: tuple[float, ...]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(task.parameters, case, strict=True))


def _not_asked_for(config: DataConfig, task: Task, by_case: dict[tuple[float, ...], list[FieldFile]]) -> str:
    """What may have been meant: files of other cases, and those that no task of the config reads."""
    asked = getattr(config, task.name).cases
    layouts = {TASKS[name].layout for name in config.tasks}
    found = [
        *(
            f"{file.path} has {_named(task, case)}"
            for case, files in by_case.items()
            for file in files
            if case not in asked
        ),
        *(
            f"{file.path} is of layout {file.layout}"
            for file in _own_files(config)
            if file.layout not in layouts
        ),
    ]
    return f": {_listed(found)}" if found else ""


def _parameter(file: FieldFile, task: Task, name: str) -> float:
    if name not in file.parameters:
        found = ", ".join(file.parameters) or "none"
        key = f", or set data.{task.name}.files to a pattern that only files of {task.name} match"
        raise ConfigError(
            f"{file.path}: attribute {name}: expected a single number, found {found}. Set it to this file's "
            "value, or move the file out of data.root if it holds another equation"
            f"{key if hasattr(task.settings, 'files') else ''}"
        )
    if not math.isfinite(file.parameters[name]):
        raise ConfigError(
            f"{file.path}: attribute {name}: got {file.parameters[name]}, expected a finite number. "
            "Set it to this file's value"
        )
    return file.parameters[name]


@cache
def _tell_of_deeper_files(root: Path) -> None:
    """Who has files in folders, as PDEBench's are when downloaded, would train on others unawares.

    Told once, where a training asks again.
    """
    if not is_first_rank():
        return
    generated = re.compile(rf"({'|'.join(TASKS)})-[0-9a-f]{{{KEY_DIGITS}}}(\.partial)?")
    deeper: list[Path] = []
    for folder, folders, files in os.walk(root):  # passes over what another process moves meanwhile
        if Path(folder) == root:
            folders[:] = [name for name in folders if not generated.fullmatch(name)]
        else:
            deeper += [Path(folder, name) for name in files if name.lower().endswith(SUFFIXES)]
    if deeper:
        text = (
            f"{root}: files in subfolders are not read, such as {min(deeper)}; move them directly into {root}"
        )
        say(text)


def _require_shape(file: FieldFile, task: Task, settings: TaskSettings) -> None:
    for fields in (task.state, task.target):
        if len(fields) != len(file.fields):
            raise ConfigError(
                f"{file.path}: a state of layout {file.layout} has the fields {', '.join(file.fields)}, but "
                f"{task.name} has {', '.join(fields)}. Change its file in trainer/data/tasks, or its layout"
            )
    if file.trajectories < settings.trajectories:
        raise ConfigError(
            f"{file.path}: has {file.trajectories} trajectories, but "
            f"data.{task.name}.trajectories asks for {settings.trajectories}. Lower it to what the file has"
        )
    if (file.frames, *file.grid) != (settings.frames, *settings.grid):
        raise ConfigError(
            f"{file.path}: has {file.frames} frames on a grid of {file.grid}, but data.{task.name} asks for "
            f"{settings.frames} on {settings.grid}. Change the config to what the file has"
        )


def _require_same_scales(file: FieldFile, first: FieldFile) -> None:
    """The model is told neither seconds nor lengths but by dt, which is the same in all files of a task."""
    if file.frame_seconds and not math.isclose(file.frame_seconds, first.frame_seconds, rel_tol=1e-3):
        raise ConfigError(
            f"{file.path}: t-coordinate: {file.frame_seconds:.6g} seconds between frames, but "
            f"{first.frame_seconds:.6g} in {first.path}; keep only files with the same interval in data.root"
        )
    for found, expected in zip(file.spacing, first.spacing, strict=True):
        if not math.isclose(found, expected, rel_tol=1e-3):
            raise ConfigError(
                f"{file.path}: {found:.6g} between grid points, but {expected:.6g} in {first.path}; "
                "keep only files with the same domain in data.root"
            )
