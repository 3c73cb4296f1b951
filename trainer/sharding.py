"""Tensors that FSDP2 keeps in parts, one per rank, and the whole of them."""

from __future__ import annotations

import sys

import torch
from torch import Tensor, nn


def whole(tensor: Tensor) -> Tensor:
    """Return all of a tensor; where it is sharded, every rank must call this in the same order."""
    return tensor.full_tensor() if _is_sharded(tensor) else tensor


def share_of(tensor: Tensor, like: Tensor) -> Tensor:
    """Return the tensor sharded as `like` is; all ranks hold all of it, so nothing is sent."""
    if not _is_sharded(like):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor, like.device_mesh, like.placements, src_data_rank=None)


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
    local(tensor).copy_(local(share_of(value.to(tensor.device), tensor)))


def _is_sharded(tensor: Tensor) -> bool:
    """Whether it is a DTensor: there is none before their module is imported, which takes seconds."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(tensor, module.DTensor)
