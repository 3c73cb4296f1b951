"""The data of a run: both splits of every task, in the units of the training split."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trainer.config.schema import Config
from trainer.data.batches.mixture import TaskSet
from trainer.data.batches.pair_readers import MappedPairs
from trainer.data.files.measurements import measured
from trainer.data.files.pairs import data_hash, split_trajectories
from trainer.data.files.sources import open_files
from trainer.data.tasks import TASKS


@dataclass(frozen=True)
class Data:
    train: TaskSet
    held_out: TaskSet
    content_hash: str
    content_hashes: dict[str, tuple[str, ...]]  # of the files of each task


def open_data(config: Config, *, generates: bool = True) -> Data:
    """Open the files, generated if need be, with the units of the training split.

    ConfigError where they are not there and must not be generated.
    """
    data, files = config.data, open_files(config.data, generates=generates)
    train, held_out, content_hashes = [], [], {}
    split = {task: split_trajectories(data, task) for task in files}
    for task, of_task in files.items():
        splits = split[task]
        every = of_task[0].grid[0] // config.grids[task][0]
        known = measured(TASKS[task], of_task, splits, every, Path(data.root))
        content_hashes[task] = known.content_hashes
        for part, table in ((train, splits.train), (held_out, splits.held_out)):
            part.append(
                MappedPairs(
                    TASKS[task],
                    data.tasks,
                    of_task,
                    table,
                    known.units,
                    every,
                    known.mean_targets,
                    _held_bytes(config),
                )
            )
    return Data(
        TaskSet(tuple(train), config.task_shares),
        TaskSet(tuple(held_out), config.task_shares),
        data_hash(data, files, content_hashes, split),
        content_hashes,
    )


def _held_bytes(config: Config) -> int | None:
    """Of each task and split; the training split and the held-out one have half of it each."""
    data = config.data
    held = data.held_gigabytes
    return None if held is None else int(held * 2**30 / (2 * len(data.tasks)))
