"""The data of a run: both splits of every task, in the units of the training split."""

from __future__ import annotations

from dataclasses import dataclass

from trainer.config.schema import Config
from trainer.data.mixture import TaskSet
from trainer.data.normalisation import measure_mean_targets, measure_normalisation, require_finite
from trainer.data.pairs import data_hash, split_trajectories
from trainer.data.paths import MappedPairs
from trainer.data.sources import open_files
from trainer.data.tasks import TASKS


@dataclass(frozen=True)
class Data:
    train: TaskSet
    held_out: TaskSet
    content_hash: str


def open_data(config: Config) -> Data:
    """Open the files, generated if need be, and measure the normalisation on the training split."""
    data, files = config.data, open_files(config.data)
    train, held_out = [], []
    for task, of_task in files.items():
        splits = split_trajectories(data, task)
        every = of_task[0].grid[0] // config.grids[task][0]
        units = measure_normalisation(TASKS[task], of_task, splits.train, every)
        require_finite(of_task, splits.held_out, every)
        steady = TASKS[task].steady
        means = measure_mean_targets(of_task, splits.train, units.target, every) if steady else None
        for part, table in ((train, splits.train), (held_out, splits.held_out)):
            part.append(MappedPairs(TASKS[task], data.tasks, of_task, table, units, every, means))
    return Data(
        TaskSet(tuple(train), config.task_shares),
        TaskSet(tuple(held_out), config.task_shares),
        data_hash(data, files),
    )
