"""Assigns files to tasks by layout, dimensions, fields, parameters and file name."""

from fnmatch import fnmatchcase

from trainer.config.schema import DataConfig
from trainer.contracts.task import Task, TaskSettings
from trainer.data.layouts.field_file import FieldFile
from trainer.data.tasks import TASKS


def asked_pattern(config: DataConfig, task: Task) -> str | None:
    """The config's file name pattern for a task; a task may have no such key."""
    return getattr(getattr(config, task.name), "files", None)


def is_of_task(file: FieldFile, task: Task, config: DataConfig) -> bool:
    """Whether the file belongs to this task rather than to another one.

    A pattern in the config outranks a pattern that a task declares, which outranks the parameters. Among
    those, the task with most of the file's parameters wins. A file that fits no task's parameters is kept
    for each task here, and reported when its parameters are read.
    """
    if not _may_be_of(file, task, config):
        return False
    if asked_pattern(config, task):
        return True
    fitting = [
        other
        for other in TASKS.values()
        if _may_be_of(file, other, config) and set(other.parameters) <= set(file.parameters)
    ]
    strongest = max((_strength(other, config) for other in fitting), default=0)
    best = [other for other in fitting if _strength(other, config) == strongest]
    own = set(task.parameters)
    return not fitting or (task in best and not any(own < set(other.parameters) for other in best))


def misfit(file: FieldFile, task: Task, settings: TaskSettings) -> str:
    """Return why a file cannot belong to a task, whatever its name and parameters, or an empty text.

    Size is ignored here: a file of the wrong size is refused later, with what to change.
    """
    if file.layout != task.layout:
        return f"is of layout {file.layout}, expected {task.layout}"
    if len(file.grid) != len(settings.grid):
        return f"has a grid of {len(file.grid)} dimensions, expected {len(settings.grid)}"
    for fields in (task.state, task.target):
        if len(file.fields) != len(fields):
            return f"has the fields {', '.join(file.fields)}, expected {', '.join(fields)}"
    return ""


def has_size(file: FieldFile, settings: TaskSettings) -> bool:
    """Whether the file has the size that the config asks for."""
    return (
        file.trajectories >= settings.trajectories
        and file.frames == settings.frames
        and file.grid == tuple(settings.grid)
    )


def _may_be_of(file: FieldFile, task: Task, config: DataConfig) -> bool:
    pattern = asked_pattern(config, task) or task.files
    named = pattern is None or fnmatchcase(file.path.name, pattern)
    return named and not misfit(file, task, getattr(config, task.name))


def _strength(task: Task, config: DataConfig) -> int:
    return 2 if asked_pattern(config, task) else int(task.files is not None)
