"""One file per PDE: its settings, its solver and what is known of its fields. A new file is a new task."""

import importlib
import pkgutil
from collections.abc import Iterator

from trainer.data.tasks.task import Task


def _found() -> Iterator[Task]:
    for module in pkgutil.iter_modules(__path__):
        if module.name != "task":
            yield importlib.import_module(f"{__name__}.{module.name}").TASK


TASKS: dict[str, Task] = {task.name: task for task in _found()}
