"""Tensors that FSDP2 keeps in parts, one per rank, and the whole of them."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence

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
    copies = zip(mine.split(sizes), parts, strict=True)
    torch._foreach_copy_([copy[: part.numel()].view(part.shape) for copy, part in copies], parts)
    everyone = mine.new_empty(mesh.size() * len(mine))
    dist.all_gather_into_tensor(everyone, mine, group=mesh.get_group())
    # One kernel lays each tensor's parts one behind another; what the last ones lack is then at its end.
    spaces = torch.empty_like(everyone).split([mesh.size() * size for size in sizes])
    places = [space.view(mesh.size(), -1) for space in spaces]
    torch.split_with_sizes_copy(everyone.view(mesh.size(), -1), sizes, dim=1, out=places)
    wholes = (
        space[: tensor.numel()].view(tensor.shape) for space, tensor in zip(spaces, sharded, strict=True)
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


@torch.no_grad()
def clip_norm(parameters: Iterable[nn.Parameter], limit: float) -> Tensor:
    """Scale gradients down to a norm of at most `limit` over all of them; return the norm before.

    As torch's, which takes sharded gradients one by one.
    """
    parameters = [parameter for parameter in parameters if parameter.grad is not None]
    if not any(_is_sharded(parameter) for parameter in parameters):
        return nn.utils.clip_grad_norm_(parameters, limit)
    parts = [local(parameter.grad) for parameter in parameters]
    squares = nn.utils.get_total_norm(parts).square()
    dist.all_reduce(squares, group=parameters[0].device_mesh.get_group())
    norm = squares.sqrt()
    torch._foreach_mul_(parts, (limit / (norm + 1e-6)).clamp(max=1.0))
    return norm


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
