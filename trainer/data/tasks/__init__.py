"""One file per PDE: its settings, its solver and what is known of its fields. A new file is a new task."""

from trainer.contracts.discovery import discovered
from trainer.contracts.task import Task

TASKS: dict[str, Task] = {
    task.name: task for task in discovered(__name__, __path__, "TASK", lambda task: [task.name])
}
