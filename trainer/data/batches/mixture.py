"""Several tasks in one training: which pairs make an update, and how they are read as one batch.

Every micro-batch holds the same number of pairs of each task, task after task, on all ranks: static shapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

import numpy as np
import torch

from trainer.data.batches.batch import Batch, part_sizes
from trainer.data.batches.pair_readers import MappedPairs, ResidentPairs
from trainer.data.batches.schedule import BatchSchedule


@dataclass(frozen=True)
class TaskSet:
    """The pairs of all tasks of one split; a pair's number counts over all tasks."""

    tasks: tuple[MappedPairs, ...]
    shares: tuple[int, ...]  # of a batch, relative

    def __len__(self) -> int:
        return sum(len(pairs.table) for pairs in self.tasks)

    @property
    def normalisation(self) -> dict[str, dict[str, list]]:
        return {pairs.task.name: pairs.normalisation.plain() for pairs in self.tasks}

    @property
    def first_pairs(self) -> list[int]:
        """Number of the first pair of each task."""
        return [0, *accumulate(len(pairs.table) for pairs in self.tasks)][:-1]

    def read(self, pairs: np.ndarray) -> Batch:
        parts = np.split(pairs, np.cumsum(part_sizes(len(pairs), self.shares))[:-1])
        read = [
            task.read(part - first)
            for task, part, first in zip(self.tasks, parts, self.first_pairs, strict=True)
        ]
        return Batch.of(torch.from_numpy(pairs), read)

    def schedule(
        self,
        pairs_per_update: int,
        seed: int,
        rest: Literal["drop", "pad"] = "drop",
        cut_into: int = 1,
    ) -> MixedSchedule:
        sizes = part_sizes(pairs_per_update, self.shares)
        # Each task has a seed of its own, or tasks of as many pairs would be drawn in one order. 7919 is a
        # large prime: trainings of neighbouring seeds share no order, but task 1 of seed s has that of task 0
        # of seed s + 7919.
        schedules = [
            BatchSchedule(len(pairs.table), size, seed + 7919 * index, pairs.task.name, rest, cut_into)
            for index, (pairs, size) in enumerate(zip(self.tasks, sizes, strict=True))
        ]
        return MixedSchedule(tuple(schedules), tuple(self.first_pairs))


class ResidentSet:
    """The same on the device."""

    def __init__(self, mapped: TaskSet, device: torch.device) -> None:
        self.device, self.shares, self.first_pairs = device, mapped.shares, mapped.first_pairs
        self.tasks = [ResidentPairs(pairs, device) for pairs in mapped.tasks]

    def read(self, pairs: torch.Tensor) -> Batch:
        parts = pairs.split(part_sizes(len(pairs), self.shares))
        read = [
            task.read(part - first)
            for task, part, first in zip(self.tasks, parts, self.first_pairs, strict=True)
        ]
        return Batch.of(pairs, read)


@dataclass(frozen=True)
class MixedSchedule:
    """One schedule per task, side by side."""

    tasks: tuple[BatchSchedule, ...]
    first_pairs: tuple[int, ...]

    @property
    def updates_per_epoch(self) -> int:
        """Declared updates until every task has been seen once."""
        return max(schedule.updates_per_epoch for schedule in self.tasks)

    def micro_batch(
        self, step: int, micro_step: int, micro_steps: int, rank: int, world_size: int
    ) -> np.ndarray:
        """Pair numbers of one rank and micro-step, task after task."""
        parts = [
            first + schedule.micro_batch(step, micro_step, micro_steps, rank, world_size)
            for schedule, first in zip(self.tasks, self.first_pairs, strict=True)
        ]
        return np.concatenate(parts)
