"""Tensors that FSDP2 keeps in parts, one per rank, and the whole of them."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn


def whole(tensor: Tensor) -> Tensor:
    """Return all of a tensor; where it is sharded, every rank must call this in the same order."""
    return tensor.full_tensor() if _is_sharded(tensor) else tensor


def all_whole(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return all of each tensor, of one format; the parts of those that are sharded come in one gather.

    Every rank must call this with the same tensors. A gather for each takes the host longer than it sends.
    """
    sharded = [tensor for tensor in tensors if _is_sharded(tensor)]
    if not sharded:
        return list(tensors)
    mesh = sharded[0].device_mesh
    parts = [tensor.to_local() for tensor in sharded]
    sizes = [_rows(tensor) * math.prod(tensor.shape[1:]) for tensor in sharded]  # a slice would be sent
    mine = parts[0].new_zeros(sum(sizes))  # the last ranks' parts may be shorter
    places = zip(mine.split(sizes), parts, strict=True)
    torch._foreach_copy_([place[: part.numel()].view(part.shape) for place, part in places], parts)
    everyone = mine.new_empty(mesh.size() * len(mine))
    dist.all_gather_into_tensor(everyone, mine, group=mesh.get_group())
    wholes = (
        columns.flatten()[: tensor.numel()].view(tensor.shape)
        for columns, tensor in zip(everyone.view(mesh.size(), -1).split(sizes, dim=1), sharded, strict=True)
    )
    return [next(wholes) if _is_sharded(tensor) else tensor for tensor in tensors]


def part_of(tensor: Tensor, like: Tensor) -> Tensor:
    """Return what this rank holds of a whole tensor that is sharded as `like` is; nothing is sent."""
    if not _is_sharded(like):
        return tensor
    rows = _rows(like)
    first = like.device_mesh.get_local_rank() * rows
    return tensor[first : first + rows]


def _rows(sharded: Tensor) -> int:
    """How many rows FSDP2 gives each rank; the last ones may have fewer, or none."""
    return math.ceil(sharded.shape[0] / sharded.device_mesh.size())


def local(tensor: Tensor) -> Tensor:
    """Return the part that this rank holds, which is all of it where nothing is sharded."""
    return tensor.to_local() if _is_sharded(tensor) else tensor


def whole_state(module: nn.Module) -> dict[str, Tensor]:
    return {name: whole(tensor) for name, tensor in module.state_dict().items()}


@torch.no_grad()
def load_whole_state(module: nn.Module, state: dict[str, Tensor]) -> None:
    """Copy into the module's own tensors, whose addresses optimizers and graphs hold."""
    for name, tensor in module.state_dict().items():
        put_whole(tensor, state[name])


@torch.no_grad()
def put_whole(tensor: Tensor, value: Tensor) -> None:
    """Copy a whole value into a tensor that may be sharded; ValueError if it has another shape."""
    if value.shape != tensor.shape:
        raise ValueError(f"got a value of shape {tuple(value.shape)}, expected {tuple(tensor.shape)}")
    local(tensor).copy_(part_of(value.to(tensor.device), tensor))


def _is_sharded(tensor: Tensor) -> bool:
    """Whether it is a DTensor: there is none before their module is imported, which takes seconds."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(tensor, module.DTensor)
