"""A batch of pairs, the unit that every data path delivers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class TaskPairs(NamedTuple):
    """Pairs of one task in normalised units."""

    field: Float[Tensor, "pairs fields *grid"]  # what is given: the state at t
    next_field: Float[Tensor, "pairs targets *grid"]  # what is asked for: the state at t + dt
    condition: Float[Tensor, "pairs conditions"]  # dt, the parameters of all tasks, and which task it is


class Batch(NamedTuple):
    """Pairs of all tasks, task after task. A named tuple, so that DataLoader can pin it."""

    pair: Int[Tensor, " pairs"]  # number in the split, counted over all tasks
    fields: tuple[Tensor, ...]  # per task, (pairs of the task, fields, *grid)
    next_fields: tuple[Tensor, ...]
    condition: Float[Tensor, "pairs conditions"]

    @staticmethod
    def of(pair: Int[Tensor, " pairs"], parts: list[TaskPairs]) -> Batch:
        return Batch(
            pair,
            tuple(part.field for part in parts),
            tuple(part.next_field for part in parts),
            torch.cat([part.condition for part in parts]),
        )

    def to(self, device: torch.device) -> Batch:
        def moved(part: Tensor) -> Tensor:
            return part.to(device, non_blocking=True)

        return Batch(
            moved(self.pair),
            tuple(map(moved, self.fields)),
            tuple(map(moved, self.next_fields)),
            moved(self.condition),
        )


def part_sizes(pairs: int, shares: Sequence[int]) -> list[int]:
    """How many pairs of each task there are in a batch; validation made sure that they come out even."""
    return [pairs * share // sum(shares) for share in shares]
