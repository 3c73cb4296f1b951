"""Coordinates of regular grids on the unit interval and square."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def coordinates(grid: tuple[int, ...]) -> Float[Tensor, "points dimensions"]:
    """Return i / points along each axis, the last axis fastest: the first cell centre is taken as 0."""
    axes = torch.meshgrid(*(torch.arange(points) / points for points in grid), indexing="ij")
    return torch.stack([axis.flatten() for axis in axes], dim=-1)
