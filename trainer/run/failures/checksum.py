"""Are the weights the same on all ranks? Nothing else would notice a rank that drifts away."""

from __future__ import annotations

import torch
from jaxtyping import Int32, Int64
from torch import Tensor, nn

from trainer.counter_random import mix
from trainer.errors import RanksDisagree
from trainer.process.world import World


def require_equal_weights(model: nn.Module, world: World, step: int) -> None:
    """Raise RanksDisagree on every rank, naming the first parameter whose checksum differs."""
    sums = world.gather(checksums(model))
    different = (sums != sums[0]).any(dim=0).tolist()
    for (name, _), differs in zip(model.named_parameters(), different, strict=True):
        if differs:
            raise RanksDisagree(step, name)


@torch.no_grad()
def checksums(model: nn.Module) -> Int64[Tensor, " parameters"]:
    """Sum of each parameter's bits read as whole numbers, weighted by place, modulo 2^64.

    Equal for equal bits, in any order of summing. No two places weigh the same and none weighs 0, so one
    number that changed, or two that changed places, show for certain, and anything else all but so.
    """
    return torch.stack([_checksum(p.view(torch.int32).flatten()) for p in model.parameters()])


def _checksum(bits: Int32[Tensor, " numbers"]) -> Int64[Tensor, ""]:
    places = torch.arange(1, len(bits) + 1, device=bits.device)  # mix(0) is 0
    return (bits * mix(places)).sum()
