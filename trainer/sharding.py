"""Tensors that FSDP2 keeps in parts, one per rank, and the whole of them."""

from __future__ import annotations

from torch import Tensor
from torch.distributed.tensor import DTensor, distribute_tensor


def whole(tensor: Tensor) -> Tensor:
    """Return all of a tensor; where it is sharded, every rank must call this in the same order."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def share_of(tensor: Tensor, like: Tensor) -> Tensor:
    """Return the tensor sharded as `like` is; all ranks hold all of it, so nothing is sent."""
    if not isinstance(like, DTensor):
        return tensor
    return distribute_tensor(tensor, like.device_mesh, like.placements, src_data_rank=None)


def local(tensor: Tensor) -> Tensor:
    """Return the part that this rank holds, which is all of it where nothing is sharded."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor
