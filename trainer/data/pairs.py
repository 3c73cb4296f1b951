"""Which trajectories of a task are held out, which pairs there are, and what a pair's number means."""

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from trainer.config.schema import DataConfig
from trainer.data.tasks import TASKS


@dataclass(frozen=True)
class PairTable:
    """The pairs of one task and split.

    Pair p is frame pair p % pairs_per_trajectory of trajectory p // pairs_per_trajectory.
    """

    file_index: np.ndarray  # per trajectory
    row: np.ndarray  # per trajectory, in its file
    first_frame: np.ndarray  # per frame pair
    stride: np.ndarray  # per frame pair, in frames

    @property
    def trajectories(self) -> int:
        return len(self.row)

    @property
    def pairs_per_trajectory(self) -> int:
        return len(self.first_frame)

    def __len__(self) -> int:
        return self.trajectories * self.pairs_per_trajectory


@dataclass(frozen=True)
class Splits:
    train: PairTable
    held_out: PairTable


def split_trajectories(config: DataConfig, task: str) -> Splits:
    """Split the trajectories of each file, disjoint, by data.seed alone."""
    settings = getattr(config, task)
    count = settings.trajectories
    held_out = min(count - 1, max(1, round(count * config.held_out_fraction)))
    orders = [
        np.random.default_rng([config.seed, index, 1]).permutation(count)
        for index in range(len(settings.cases))
    ]
    strides = (1,) if TASKS[task].steady else config.frame_strides
    return Splits(
        train=_table(settings.frames, strides, [np.sort(order[held_out:]) for order in orders]),
        held_out=_table(settings.frames, strides, [np.sort(order[:held_out]) for order in orders]),
    )


def data_hash(config: DataConfig, content_hashes: dict[str, tuple[str, ...]]) -> str:
    """Equal only where two runs train and evaluate on the same fields, of the files of each task.

    A file that we did not write, or that was changed since, is hashed whole: written again with the same
    fields it may count as another. Times and parameters of one that we wrote are no part of its hash.
    """
    selection = [
        config.seed,
        config.held_out_fraction,
        config.reduced_resolution,
        config.reduced_resolution_2d,
        config.frame_strides,
    ]
    parts = [
        [task, getattr(config, task).trajectories, of_files] for task, of_files in content_hashes.items()
    ]
    return hashlib.sha256(json.dumps([selection, parts]).encode()).hexdigest()[:16]


def _table(frames: int, strides: tuple[int, ...], rows: list[np.ndarray]) -> PairTable:
    firsts = [np.arange(frames - stride) for stride in strides]
    return PairTable(
        file_index=np.concatenate([np.full(len(part), index) for index, part in enumerate(rows)]),
        row=np.concatenate(rows),
        first_frame=np.concatenate(firsts),
        stride=np.concatenate(
            [np.full(len(first), stride) for first, stride in zip(firsts, strides, strict=True)]
        ),
    )
