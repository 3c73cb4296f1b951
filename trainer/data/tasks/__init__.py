"""One file per PDE: its settings, its solver and what is known of its fields. A new file is a new task."""

from trainer.data.tasks.task import Task
from trainer.members import members

TASKS: dict[str, Task] = {
    task.name: task for task in members(__name__, __path__, "TASK", lambda task: [task.name])
}
