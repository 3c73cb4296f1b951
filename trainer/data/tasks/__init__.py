"""One file per PDE: its settings, its solver and what is known of its fields."""

from trainer.data.tasks import advection1d, darcy2d
from trainer.data.tasks.task import Task

TASKS: dict[str, Task] = {task.name: task for task in (advection1d.TASK, darcy2d.TASK)}
