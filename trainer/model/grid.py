"""Coordinates of regular grids on the unit interval and square."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from trainer.config.token_grid import token_grid


def coordinates(grid: tuple[int, ...]) -> Float[Tensor, "points dimensions"]:
    """Return i / points along each axis, the last axis fastest: the first cell centre is taken as 0."""
    axes = torch.meshgrid(*(torch.arange(points) / points for points in grid), indexing="ij")
    return torch.stack([axis.flatten() for axis in axes], dim=-1)


def token_centres(tokens: int, grid: tuple[int, ...]) -> Float[Tensor, "tokens dimensions"]:
    """Return the mean of the coordinates of each token's patch of the grid."""
    cut = token_grid(tokens, grid)
    half_patch = [(points // cells - 1) / 2 / points for points, cells in zip(grid, cut, strict=True)]
    return coordinates(cut) + torch.tensor(half_patch)
