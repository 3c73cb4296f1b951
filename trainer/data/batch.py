"""A batch of pairs, the unit that every data path delivers."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class Batch(NamedTuple):
    """Pairs in normalised units. A named tuple, so that DataLoader can pin it."""

    pair: Int[Tensor, " pairs"]  # number in the split
    field: Float[Tensor, "pairs points"]  # at t
    next_field: Float[Tensor, "pairs points"]  # at t + dt
    condition: Float[Tensor, "pairs conditions"]  # dt and the task's parameters

    def to(self, device: torch.device) -> Batch:
        return Batch(*(part.to(device, non_blocking=True) for part in self))
