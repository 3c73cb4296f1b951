"""Are the weights the same on all ranks? Nothing else would notice a rank that drifts away."""

from __future__ import annotations

import torch
from jaxtyping import Int64
from torch import Tensor, nn

from trainer.errors import RanksDisagree
from trainer.run.world import World


def require_equal_weights(model: nn.Module, world: World, step: int) -> None:
    """Raise RanksDisagree on every rank, naming the first parameter that differs in any bit."""
    sums = world.gather(bit_sums(model))
    different = (sums != sums[0]).any(dim=0).tolist()
    for (name, _), differs in zip(model.named_parameters(), different, strict=True):
        if differs:
            raise RanksDisagree(step, name)


@torch.no_grad()
def bit_sums(model: nn.Module) -> Int64[Tensor, " parameters"]:
    """Sum of each parameter's bits read as whole numbers: equal for equal bits, in any order of summing."""
    return torch.stack([p.view(torch.int32).sum(dtype=torch.int64) for p in model.parameters()])
